# Prints what a completion script offers for the last word of a command line:
# complete.sh SCRIPT WORD...
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_tessera
printf '%s\n' "${COMPREPLY[@]}"
