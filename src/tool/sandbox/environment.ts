import { givesAccess } from '../../base/command.ts'

/** They refer to the user's programs outside, or to folders that are not visible in the sandbox. */
const omittedVariables: ReadonlySet<string> = new Set(
  (
    'BROWSER http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY TEMP TMP ' +
    'XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_SESSION_ID XDG_SESSION_PATH'
  ).split(' '),
)

/** Turns off features that would only complain about a read-only home folder. */
const added: Readonly<Record<string, string>> = {
  GIT_OPTIONAL_LOCKS: '0',
  npm_config_logs_max: '0',
  npm_config_update_notifier: 'false',
}

/** Makes package managers fail immediately without a network, instead of retrying for minutes. */
const withoutNetwork: Readonly<Record<string, string>> = {
  npm_config_fetch_retries: '0',
  PIP_RETRIES: '0',
  CARGO_NET_OFFLINE: 'true',
  GOPROXY: 'off',
}

/** The environment of a program in the sandbox, derived from the one it would have outside. */
export function boxEnvironment(
  given: Readonly<Record<string, string>>,
  { cwd, temporary, proxy }: { readonly cwd: string; readonly temporary: string; readonly proxy?: string },
): Readonly<Record<string, string>> {
  const kept = Object.entries(given).filter(([name]) => !omittedVariables.has(name) && !givesAccess(name))
  return {
    ...Object.fromEntries(kept),
    ...added,
    PWD: cwd,
    TMPDIR: temporary,
    // programs need writable caches, so these are private
    XDG_CACHE_HOME: `${temporary}/.cache`,
    ...(proxy === undefined ? withoutNetwork : proxyVariables(proxy)),
  }
}

function proxyVariables(proxy: string): Readonly<Record<string, string>> {
  const names = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  const here = 'localhost,127.0.0.1,::1'
  return {
    ...Object.fromEntries(names.map((name) => [name, proxy])),
    no_proxy: here,
    NO_PROXY: here,
    NODE_USE_ENV_PROXY: '1',
  }
}
