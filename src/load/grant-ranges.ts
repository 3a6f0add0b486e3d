import { defined } from '../base/json.ts'
import { type Action, grantFor, type Grant, onlyCommand } from '../event/permission.ts'
import { isWriter, ownToolNames } from '../tool/toolbox/rows.ts'

/** What the user may allow besides one call. `call`: exactly this one, again. */
export interface OfferedRange {
  readonly kind: 'call' | 'file' | 'commands' | 'edits'
  readonly grant: Grant
}

/**
 * The ranges that are offered for a call, narrowest first: the same call again, or for a change its file; command lines
 * that begin like this one; all changes of files.
 * @param rule the rule with a pattern that asks about the call
 */
export function offeredRanges(
  action: Extract<Action, { readonly kind: 'tool' }>,
  rule: string | undefined,
): readonly OfferedRange[] {
  const { tool, subject, about } = action
  const asked = defined({ rule })
  if (isWriter(tool) && subject?.kind === 'path') {
    const tools = ownToolNames.filter(isWriter)
    return [
      { kind: 'file', grant: { range: 'file', tools, path: subject.path, ...asked } },
      { kind: 'edits', grant: { range: 'edits', tools, ...asked } },
    ]
  }
  const words = firstWords(onlyCommand(subject))
  const commands = { range: 'commands', tool, ...defined({ words, folder: about?.folder }), ...asked } as const
  return [
    { kind: 'call', grant: grantFor(action) },
    ...(words === undefined ? [] : [{ kind: 'commands', grant: { ...commands, words } } as const]),
  ]
}

/** Subcommands that do what they are named for, whatever their arguments are. */
const subcommands: { readonly [program: string]: string } = {
  bun: 'test',
  bundle: 'check list',
  cargo: 'build check clippy doc fmt metadata test tree',
  deno: 'check fmt lint test',
  docker: 'images inspect logs ps',
  dotnet: 'build format restore test',
  gh: 'issue pr',
  git:
    'add blame branch checkout cherry-pick commit describe diff log ls-files merge mv reset restore rev-parse rm show ' +
    'shortlog stash status switch tag',
  go: 'build doc fmt list mod test version vet',
  gradle: 'build check test',
  kubectl: 'describe get logs',
  mvn: 'compile test verify',
  npm: 'audit ls outdated test view',
  pip: 'freeze list show',
  pnpm: 'audit ls outdated test',
  swift: 'build test',
  yarn: 'audit list outdated test',
}
/** Script runners: the word behind them names a script of the project. */
const scripts = /^(?:(?:npm|pnpm|yarn|bun) run|deno task)$/
/** Programs that only show something, whatever their arguments are. */
const showing: ReadonlySet<string> = new Set(
  'basename cat cd cmp cut df dirname du echo file grep head id ls md5sum nl printf pwd realpath seq sha256sum stat tail tr uname wc which whoami'.split(
    ' ',
  ),
)

/**
 * The words that decide what a command does: a program with its subcommand (`git status`, `npm run build`), or a program
 * that only shows something (`ls`). Undefined for all others, because their arguments may decide, as for an interpreter.
 */
function firstWords(command: string | undefined): string | undefined {
  const [program = '', sub = '', script = ''] = command?.split(' ') ?? []
  if (showing.has(program)) return program
  if (scripts.test(`${program} ${sub}`)) return isName(script) ? `${program} ${sub} ${script}` : undefined
  const known = Object.hasOwn(subcommands, program) ? (subcommands[program] ?? '') : ''
  return known.split(' ').includes(sub) && sub !== '' ? `${program} ${sub}` : undefined
}

function isName(word: string): boolean {
  return /^[a-z][\w:.-]*$/i.test(word)
}
