"""Checks documents against share/report/schema.json, texts against values, and that columns of a
table are equally long. Arguments: the schema, then documents."""

import json
import sys

TYPES = {"object": dict, "array": list, "string": str, "integer": int,
         "number": (int, float), "null": type(None)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "const", "required",
         "properties", "additionalProperties", "items", "minItems", "minimum", "maximum", "anyOf"}


def matches(value, name):
    return isinstance(value, TYPES[name]) and not isinstance(value, bool)


def check(schema, value, root, path):
    """The faults of a value by the words of JSON Schema that the schema uses."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(matches(value, name) for name in types):
        return [f"{path}: expects {types}"]
    faults = []
    if "const" in schema and value != schema["const"]:
        faults.append(f"{path}: expects {schema['const']}")
    if "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        faults.append(f"{path}: expects a number within its limits")
    if isinstance(value, dict):
        faults += [f"{path}: expects {key}" for key in schema.get("required", [])
                   if key not in value]
        if "anyOf" in schema and not any(set(each["required"]) <= set(value)
                                         for each in schema["anyOf"]):
            faults.append(f"{path}: expects one of {schema['anyOf']}")
        properties = schema.get("properties", {})
        other = schema.get("additionalProperties", True)
        for key, member in value.items():
            if key in properties:
                faults += check(properties[key], member, root, f"{path}.{key}")
            elif other is False:
                faults.append(f"{path}: has {key}")
            elif other is not True:
                faults += check(other, member, root, f"{path}.{key}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            faults.append(f"{path}: expects more")
        for i, item in enumerate(value if "items" in schema else []):
            faults += check(schema["items"], item, root, f"{path}[{i}]")
    return faults


def format_cell(column, value):
    return f"{value:.{column['digits']}f}" + column.get("suffix", "")


def check_column(column, path):
    """The faults of a column's cells, and their number."""
    if "packed" in column:
        return [], len(column["packed"])
    texts, values = column["text"], column.get("value")
    if values is None:
        return [], len(texts)
    faults = [] if len(values) == len(texts) else [f"{path}: values and texts differ in number"]
    if "digits" in column:
        faults += [f"{path}: {value} is not {text}" for text, value in zip(texts, values)
                   if value is not None and format_cell(column, value) != text]
    return faults, len(texts)


def main(schema, names):
    schema = json.load(open(schema))
    tables = rows = 0
    for name in names:
        document = json.load(open(name))
        faults = check(schema, document, schema, name)
        for section in document["sections"]:
            for key, table in section["tables"].items():
                path = f"{name}: {section['kind']}.{key}"
                sizes = []
                for column in table["columns"]:
                    found, size = check_column(column, f"{path}.{column['name']}")
                    faults += found
                    sizes.append(size)
                if len(set(sizes)) > 1:
                    faults.append(f"{path}: columns differ in length: {sizes}")
                tables += 1
                rows += sizes[0]
        if faults:
            sys.exit("\n".join(faults[:10]))
    print(f"{len(names)} documents, {tables} tables, {rows} rows are as the schema says")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
