/** Variables that programs need to find their files, the user and the network; none is meant for secrets. */
const passed: ReadonlySet<string> = new Set(
  (
    'PATH HOME USER LOGNAME SHELL PWD TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CI LANG LANGUAGE TZ TMPDIR TEMP TMP ' +
    'EDITOR VISUAL PAGER BROWSER DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK GPG_TTY GNUPGHOME ' +
    'http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR ' +
    'NODE_EXTRA_CA_CERTS NODE_ENV NODE_PATH NVM_DIR VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_DIR COREPACK_HOME ' +
    'CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS ' +
    'JAVA_HOME GRADLE_USER_HOME MAVEN_HOME M2_HOME ANDROID_HOME DOTNET_ROOT VIRTUAL_ENV CONDA_PREFIX PYTHONPATH ' +
    'PYENV_ROOT GEM_HOME GEM_PATH RBENV_ROOT CC CXX CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH ' +
    'LD_LIBRARY_PATH DYLD_LIBRARY_PATH LIBRARY_PATH CPATH DOCKER_HOST KUBECONFIG ' +
    'SystemRoot SystemDrive ComSpec PATHEXT Path USERPROFILE APPDATA LOCALAPPDATA ProgramData ProgramFiles WINDIR'
  ).split(' '),
)

const passedPrefixes = ['LC_', 'XDG_']

/** Variables that every program gets. */
const always: ReadonlySet<string> = new Set(
  (
    'PATH HOME USER LOGNAME SHELL PWD TERM LANG LANGUAGE TZ TMPDIR TEMP TMP ' +
    'SystemRoot SystemDrive ComSpec PATHEXT Path USERPROFILE WINDIR'
  ).split(' '),
)

/**
 * The environment of a command: variables of a fixed list only, so that no key or token reaches a program that a script
 * starts. `passes` can refuse variables of the list, except those that every program needs.
 */
export function commandEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  passes: (name: string) => boolean = () => true,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      const isGiven = commandVariables(name) && (always.has(name) || name.startsWith('LC_') || passes(name))
      return isGiven && value !== undefined ? [[name, value]] : []
    }),
  )
}

/** Variables of the list that lead to something that acts for the user: what that is. */
const access: ReadonlyMap<string, string> = new Map([
  ['SSH_AUTH_SOCK', 'the SSH agent, which signs with the keys of the user'],
  ['GNUPGHOME', 'the keys and the agent of GnuPG'],
  ['GPG_TTY', 'the terminal on which GnuPG asks'],
  ['DBUS_SESSION_BUS_ADDRESS', 'the session: keyrings, notifications, programs to start'],
  ['XDG_RUNTIME_DIR', 'sockets of the session: agents, containers, sound'],
  ['DISPLAY', 'keyboard and screen, by X11'],
  ['WAYLAND_DISPLAY', 'keyboard and screen, by Wayland'],
  ['DOCKER_HOST', 'a container engine, which can do everything on its machine'],
  ['KUBECONFIG', 'clusters, with their credentials'],
])

/** Whether a variable leads to something that acts for the user, so that not every program gets it. */
export function givesAccess(name: string): boolean {
  return access.has(name)
}

export function commandVariables(name: string): boolean {
  return passed.has(name) || passedPrefixes.some((prefix) => name.startsWith(prefix))
}

/** Quotes a word for a shell. */
export function shellWord(word: string): string {
  return /^[\w./@:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
