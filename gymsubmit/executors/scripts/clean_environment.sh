#!/bin/bash
# clean_environment PATTERNS: takes back the export of every variable that none of the blank-separated PATTERNS matches,
# and forgets all functions. No value is written into a command line on the way.
clean_environment() {
    local name pattern
    set -o noglob
    for name in $(compgen -e); do
        for pattern in $1; do
            # shellcheck disable=SC2053  # it is a pattern
            [[ $name == $pattern ]] && continue 2
        done
        # shellcheck disable=SC2163  # the variable that it names
        export -n "$name"
    done
    for name in $(compgen -A function); do
        unset -f "$name"
    done
    set +o noglob
}
