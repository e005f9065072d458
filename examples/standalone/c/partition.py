"""The same as partition.c by ctypes: partition.py LIBRARY PROGRAM."""

import ctypes
import subprocess
import sys


class Text(ctypes.Structure):
    """MlirStringRef."""
    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]

    @staticmethod
    def of(text):
        return Text(text.encode(), len(text.encode()))


class Handle(ctypes.Structure):
    """MlirContext, MlirModule, MlirAttribute, ...: a pointer in a struct."""
    _fields_ = [("ptr", ctypes.c_void_p)]


class Result(ctypes.Structure):
    """MlirLogicalResult."""
    _fields_ = [("value", ctypes.c_int8)]


TakeText = ctypes.CFUNCTYPE(None, Text, ctypes.c_void_p)
TakeDiagnostic = ctypes.CFUNCTYPE(ctypes.c_int8, Handle, ctypes.c_void_p)


def read(text):
    return ctypes.string_at(text.data, text.length).decode()


class Library:
    """Calls of functions with the types of their arguments; errors are exceptions."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.errors = []
        self.on_error = TakeText(lambda text, _: self.errors.append(read(text)))

    def call(self, name, *arguments, result=None):
        function = getattr(self.library, name)
        function.restype = result
        value = function(*arguments)
        if self.errors:
            raise RuntimeError(f"{name}: {self.errors.pop()}")
        return value

    def checked(self, name, *arguments, result=Handle):
        """Calls a function that takes a callback for errors."""
        return self.call(name, *arguments, self.on_error, None, result=result)

    def collect(self, name, *arguments):
        """The text that a function gives to a callback in parts."""
        parts = []
        self.call(name, *arguments, TakeText(lambda text, _: parts.append(read(text))), None)
        return "".join(parts)


class Session:
    def __init__(self, library):
        self.library = library
        library.checked("tesseraCheckAbiVersion", ctypes.c_int(1), result=Result)
        registry = library.call("mlirDialectRegistryCreate", result=Handle)
        library.call("tesseraRegisterDialects", registry)
        library.call("tesseraRegisterPasses")
        self.context = library.call("mlirContextCreateWithRegistry", registry,
                                    ctypes.c_bool(False), result=Handle)
        library.call("mlirDialectRegistryDestroy", registry)
        self.diagnostics = []
        self.handler = TakeDiagnostic(self.take)
        library.call("mlirContextAttachDiagnosticHandler", self.context, self.handler, None, None,
                     result=ctypes.c_uint64)

    def take(self, diagnostic, _):
        self.diagnostics.append(self.library.collect("mlirDiagnosticPrint", diagnostic))
        return 1

    def parse(self, text):
        module = self.library.call("mlirModuleCreateParse", self.context, Text.of(text),
                                   result=Handle)
        if not module.ptr:
            raise ValueError(self.diagnostics.pop())
        return module

    def run(self, module, pipeline):
        """Runs a pipeline; False if a pass failed."""
        passes = self.library.call("mlirPassManagerCreate", self.context, result=Handle)
        top = self.library.call("mlirPassManagerGetAsOpPassManager", passes, result=Handle)
        self.library.checked("mlirParsePassPipeline", top, Text.of(pipeline), result=Result)
        operation = self.library.call("mlirModuleGetOperation", module, result=Handle)
        done = self.library.call("mlirPassManagerRunOnOp", passes, operation, result=Result)
        self.library.call("mlirPassManagerDestroy", passes)
        return bool(done.value)

    def print(self, module):
        operation = self.library.call("mlirModuleGetOperation", module, result=Handle)
        return self.library.collect("mlirOperationPrint", operation)

    def model(self, config, batch, sequence):
        options = self.library.call("tesseraModelOptionsCreate", result=Handle)
        self.library.call("tesseraModelOptionsSetBatch", options, ctypes.c_int64(batch))
        self.library.call("tesseraModelOptionsSetSequence", options, ctypes.c_int64(sequence))
        self.library.call("tesseraModelOptionsSetTrain", options, ctypes.c_bool(True))
        module = self.library.checked("tesseraModelCreate", self.context, Text.of(config), options)
        self.library.call("tesseraModelOptionsDestroy", options)
        return module

    def write(self, module, path):
        self.library.checked("tesseraWriteExecutable", module, Text.of(""), Text.of(""),
                             Text.of(path), result=Result)


def main(library, program):
    session = Session(Library(library))
    module = session.parse("""
        dist.mesh @mesh ["dp"=2, "tp"=2]
        func.func @f(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
                     %w: tensor<64x32xf32>) -> tensor<8x32xf32> {
          %y = nn.einsum "ij,jk->ik" %x, %w
              : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
          return %y : tensor<8x32xf32>
        }""")
    assert session.run(module, "builtin.module(tessera-partitioner)"), session.diagnostics
    print(session.print(module))
    assert not session.run(module, "builtin.module(tessera-partitioner)")
    print("error:", session.diagnostics[-1])
    step = session.model("tiny-gpt2", 4, 16)
    assert session.run(step, "builtin.module(compile-to{llvm mesh=dp=2,tp=2 strategy=dp,tp,sp "
                             "training=optimizer=sgd})"), session.diagnostics
    session.write(step, program)
    sys.stdout.flush()
    subprocess.run([program, "--ranks", "4", "--data", __file__, "--steps", "2"], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
