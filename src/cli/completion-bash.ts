import type { CompletedCommand, CompletionModel, Values } from './commands/completion.ts'

/**
 * A completion script for bash 3.2 and later. It splits the line itself, because bash splits words at `@`, `=` and `:`,
 * which names of packs contain.
 */
export function bashCompletion({ commands, withValue }: CompletionModel): string {
  const names = commands.map(({ name }) => name)
  const [first] = commands
  return `# Completion of baton for bash. In ~/.bashrc: source <(baton completion bash)

# always calls the baton on PATH: ./baton may be any file of the folder; without compgen -W, which would run a $(…) in a word
_baton_words() {
  local word
  while IFS= read -r word; do
    [[ -n $word && $word == "$cur"* ]] && COMPREPLY+=("$word")
  done <<<"\${1// /$'\\n'}"
}

_baton_files() {
  local path
  while IFS= read -r path; do
    # hidden files only if asked for
    [[ \${path##*/} == .* && \${cur##*/} != .* ]] && continue
    if [[ -d \${path/#\\~/$HOME} || ( $1 != folders && ( $1 == files || $path == *.md || $path == *.aip || $path == *.lua ) ) ]]; then
      COMPREPLY+=("$path")
    fi
  done < <(compgen -f -- "$cur")
  ((\${#COMPREPLY[@]} > 0)) && compopt -o filenames 2>/dev/null
}

_baton_targets() {
  _baton_files targets
  # names of agents, unless it is a path
  case $cur in
    ./* | ../* | /* | '~'*) ;;
    *) _baton_words "$(command baton list --names 2>/dev/null </dev/null)" ;;
  esac
}

_baton_runs() {
  _baton_words "last $(command baton runs --ids 2>/dev/null </dev/null)"
}

_baton_waiting() {
  _baton_words "$(command baton runs --waiting --ids 2>/dev/null </dev/null)"
}

_baton_calls() {
  _baton_words "$(command baton approve "$first" --ids 2>/dev/null </dev/null)"
}

_baton_modes() {
  _baton_words "$(command baton list modes --names 2>/dev/null </dev/null)"
}

_baton_models() {
  local action=''
  [[ $command == models ]] && action=update
  _baton_words "$action $(command baton models --names 2>/dev/null </dev/null)"
}

_baton_servers() {
  _baton_words "$(command baton mcp list --names 2>/dev/null </dev/null)"
}

_baton() {
  local line=\${COMP_LINE:0:COMP_POINT} cur word='' flag='' command='' first=''
  local -i given=0 last
  local -a words
  COMPREPLY=()
  read -r -a words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  last=$((\${#words[@]} - 1))
  cur=\${words[last]}
  ((last > 0)) || return 0

  for word in "\${words[@]:1:last-1}"; do
    if [[ -n $flag ]]; then
      flag=''
      continue
    fi
    case $word in
      ${withValue.join(' | ')}) flag=$word ;;
      -*) ;;
      *)
        if [[ -n $command ]]; then
          ((given == 0)) && first=$word
          given+=1
        else
          case $word in
            ${names.join(' | ')}) command=$word ;;
            *) command=${first?.name ?? ''} given=1 ;;
          esac
        fi
        ;;
    esac
  done
  if [[ -z $flag && $cur == --*=* ]]; then
    flag=\${cur%%=*}
    cur=\${cur#*=}
  fi

  if [[ -n $flag ]]; then
    case \${command:-${first?.name ?? ''}}:$flag in
${commands.flatMap(valueCases).join('\n')}
    esac
  elif [[ $cur == -* ]]; then
    case $command in
${commands.map(flagCase).join('\n')}
      *) _baton_words ${quoted([...flagsOf(first), '--version'])} ;;
    esac
  else
    case $command:$given in
${commands.flatMap(wordCases).join('\n')}
      :0)
        _baton_words ${quoted(names)}
        _baton_targets
        ;;
    esac
  fi

  # bash replaces only the text after the last of these characters; an @ is replaced too
  local breaks='' character prefix=''
  for character in @ = :; do
    [[ $COMP_WORDBREAKS == *$character* ]] && breaks+=$character
  done
  [[ -n $breaks && $cur == *[$breaks]* ]] && prefix=\${cur%"\${cur##*[$breaks]}"}
  prefix=\${prefix%@}
  [[ -n $prefix && \${#COMPREPLY[@]} -gt 0 ]] && COMPREPLY=("\${COMPREPLY[@]#"$prefix"}")
  return 0
}

complete -F _baton baton
`
}

function flagsOf(command: CompletedCommand | undefined): readonly string[] {
  return command?.flags.flatMap(({ spellings }) => spellings.filter((spelling) => spelling.startsWith('--'))) ?? []
}

function flagCase(command: CompletedCommand): string {
  return `      ${command.name}) _baton_words ${quoted(flagsOf(command))} ;;`
}

function valueCases({ name, flags }: CompletedCommand): readonly string[] {
  return flags.flatMap(({ spellings, values }) => {
    const action = values === undefined ? '' : actionOf(values)
    return action === ''
      ? []
      : [`      ${spellings.map((spelling) => `${name}:${spelling}`).join(' | ')}) ${action} ;;`]
  })
}

function wordCases({ name, words }: CompletedCommand): readonly string[] {
  return words.flatMap(({ values, isRepeated }, index) => {
    const action = actionOf(values)
    return action === '' ? [] : [`      ${name}:${isRepeated ? '*' : index}) ${action} ;;`]
  })
}

/** Empty if nothing can be completed. */
function actionOf(values: Values): string {
  return values.kind === 'words' ? `_baton_words ${quoted(values.words)}` : actions[values.kind]
}

const actions = {
  targets: '_baton_targets',
  runs: '_baton_runs',
  waiting: '_baton_waiting',
  calls: '_baton_calls',
  modes: '_baton_modes',
  models: '_baton_models',
  servers: '_baton_servers',
  files: '_baton_files files',
  folders: '_baton_files folders',
  unknown: '',
} as const

function quoted(words: readonly string[]): string {
  return `'${words.join(' ')}'`
}
