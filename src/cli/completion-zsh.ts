import type { CompletedCommand, CompletedFlag, CompletionModel, Values } from './commands/completion.ts'

/** A completion script for zsh, to be sourced after `compinit` or kept as `_baton` in a folder of `fpath`. */
export function zshCompletion({ commands, withValue }: CompletionModel): string {
  const [first] = commands
  return `#compdef baton
# Completion of baton for zsh. In ~/.zshrc, after compinit: source <(baton completion zsh)

# always calls the baton on PATH: ./baton may be any file of the folder
_baton_names() {
  local -a names
  names=(\${(f)"$(_call_program names command baton list --names 2>/dev/null)"})
  compadd "$@" -a names
}

_baton_runs() {
  local -a ids
  ids=(last \${(f)"$(_call_program runs command baton runs --ids 2>/dev/null)"})
  compadd "$@" -a ids
}

_baton_waiting() {
  local -a ids
  ids=(\${(f)"$(_call_program runs command baton runs --waiting --ids 2>/dev/null)"})
  compadd "$@" -a ids
}

_baton_calls() {
  local -a ids
  ids=(\${(f)"$(_call_program calls command baton approve \${(q)words[(r)(last|[0-9]*)]} --ids 2>/dev/null)"})
  compadd "$@" -a ids
}

_baton_servers() {
  local -a servers
  servers=(\${(f)"$(_call_program servers command baton mcp list --names 2>/dev/null)"})
  compadd "$@" -a servers
}

_baton_models() {
  local -a models
  [[ $command == models ]] && models=(update)
  models+=(\${(f)"$(_call_program models command baton models --names 2>/dev/null)"})
  compadd "$@" -a models
}

_baton_modes() {
  local -a modes
  modes=(\${(f)"$(_call_program modes command baton list modes --names 2>/dev/null)"})
  compadd "$@" -a modes
}

_baton_targets() {
  _alternative 'files:file:_files -g "*.(md|aip|lua)(-.)"' 'agents:agent:_baton_names'
}

_baton_commands() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${single(`${name}:${summary}`)}`).join('\n')}
  )
  _describe -t commands command commands
}

_baton_first() {
  _alternative 'commands:command:_baton_commands' 'files:file:_files -g "*.(md|aip|lua)(-.)"' 'agents:agent:_baton_names'
}

_baton() {
  local command=''
  integer index
  for ((index = 2; index < CURRENT; index++)); do
    case $words[index] in
      ${withValue.join('|')}) ((index++)) ;;
      -*) ;;
      ${commands.map(({ name }) => name).join('|')})
        command=$words[index]
        words[index]=()
        ((CURRENT--))
        break
        ;;
      *)
        command=${first?.name ?? ''}
        break
        ;;
    esac
  done

  case $command in
${commands.map(commandCase).join('\n')}
    *)
      _arguments -s \\
        ${[...(first?.flags ?? []).map(flagArgument), single('--version[print the version]'), single('1:command or file:_baton_first')].join(' \\\n        ')}
      ;;
  esac
}

if [[ $funcstack[1] == _baton ]]; then
  _baton "$@"
else
  compdef _baton baton
fi
`
}

function commandCase({ name, flags, words }: CompletedCommand): string {
  // a positional without an action would stop zsh from inserting the only matching flag
  const positions = words.flatMap(({ name: word, values, isRepeated }, index) =>
    values.kind === 'unknown' ? [] : [single(`${isRepeated ? '*' : index + 1}:${word}:${actionOf(values)}`)],
  )
  return `    ${name})
      _arguments -s \\
        ${[...flags.map(flagArgument), ...positions].join(' \\\n        ')}
      ;;`
}

/** For `_arguments`: which spellings exclude each other, the flag, its description, and its value. */
function flagArgument({ spellings, describe, isList, values }: CompletedFlag): string {
  const says = `[${describe.replaceAll(/[[\]\\]/g, String.raw`\$&`)}]`
  const takes = values === undefined ? '' : `:value:${actionOf(values)}`
  const excludes = isList ? '*' : `(${spellings.join(' ')})`
  return spellings.map((spelling) => single(`${excludes}${marked(spelling, values)}${says}${takes}`)).join(' ')
}

/** `--model=` takes its value after `=` or as the next word, `-m+` in the same or as the next word. */
function marked(spelling: string, values: Values | undefined): string {
  if (values === undefined) return spelling
  return spelling.startsWith('--') ? `${spelling}=` : `${spelling}+`
}

function actionOf(values: Values): string {
  return values.kind === 'words' ? `(${values.words.join(' ')})` : actions[values.kind]
}

const actions = {
  targets: '_baton_targets',
  runs: '_baton_runs',
  waiting: '_baton_waiting',
  calls: '_baton_calls',
  modes: '_baton_modes',
  models: '_baton_models',
  servers: '_baton_servers',
  files: '_files',
  folders: '_files -/',
  unknown: ' ',
} as const

function single(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
