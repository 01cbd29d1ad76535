#!/usr/bin/env bash
# The browser in which the explorer is tested. Where it cannot be installed, those tests are skipped with a reason.
set -u
command -v chromium >/dev/null && command -v chromedriver >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver; } >/dev/null 2>&1 && exit 0
fi
echo "chromium and chromedriver are not here and cannot be installed: the browser tests will be skipped"
