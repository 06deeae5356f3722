# Runs git; sourced by run.sh, never run.
# shellcheck shell=bash

# run_git FOLDER ARGUMENT...: runs git in a folder, without questions for a password, implicit fetches and hooks. Nothing else
# in the action runs git. The folder must contain `.git`, or the arguments must name the folder of git: otherwise git would
# search for a repository, and find what a pull request contains. Objects are what their names say: replacements are ignored.
run_git() {
  local folder="$1"
  shift
  env -u GIT_DIR -u GIT_WORK_TREE -u GIT_COMMON_DIR -u GIT_INDEX_FILE -u GIT_NAMESPACE -u GIT_REPLACE_REF_BASE \
    GIT_ALLOW_PROTOCOL=https:http:ssh:git:file GIT_GRAFT_FILE=/dev/null GIT_LITERAL_PATHSPECS=1 GIT_NO_LAZY_FETCH=1 \
    GIT_NO_REPLACE_OBJECTS=1 GIT_TERMINAL_PROMPT=0 \
    git -C "$folder" -c safe.bareRepository=explicit -c core.hooksPath=/dev/null -c core.fsmonitor=false \
    -c advice.graftFileDeprecated=false -c gc.auto=0 -c maintenance.auto=false -c http.lowSpeedLimit=1 \
    -c http.lowSpeedTime=60 "$@"
}
