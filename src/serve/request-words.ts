/*
 * Errors of shared code name flags of the command line. Who has sent a request, or filled in a form, knows its fields.
 */

/** Sentences and phrases about what only a terminal has, then the flags with the field of a request that says the same. */
const words: readonly (readonly [RegExp, string])[] = [
  [/ Files are given with -f, other context with --stdin\./g, ' Files are given with files.'],
  [/, give it with --stdin as context,/g, ','],
  [/the current folder, or the one given with -C/g, 'the folder in which baton serve was started'],
  [/Pass its input with -i\./g, 'Pass its input with inputs.'],
  [/--var is for prompt files/g, 'vars is for prompt files'],
  [/an input \(-i\) is given/g, 'inputs are given'],
  [/ for --var$/g, ''],
  [/Globs of -f start in the current folder/g, 'Globs of files start in the folder in which baton serve was started'],
  [/Run -f from inside the workspace\./g, 'Name files of the workspace.'],
  [/Name (a model|one) with -m(?: NAME)?/g, 'Name $1 with the field model'],
  [/use -m (\S+), which/g, 'use model = "$1", which'],
  [/Write --var '?(\w+)=one,two'?, or JSON\./g, 'Give vars.$1 as JSON.'],
  [/Write it as JSON: --var '(\w+)=.*'\./g, 'Give vars.$1 as JSON.'],
  [/Write --var (\w+)=… with such a value\./g, 'Give vars.$1 such a value.'],
  [/--var (\w+)=…(?= --var)/g, 'vars.$1,'],
  [/--var (\w+)(?:=…)?/g, 'vars.$1'],
  [/--(iter|until|timeout|dry|mode|uncertain|model)(?![\w-])/g, '$1'],
  [/--max-cost(?![\w-])/g, 'max_cost'],
  [/(?<![\w-])-i(?![\w-])/g, 'inputs'],
  [/(?<![\w-])-f(?![\w-])/g, 'files'],
  [/(?<![\w-])-m(?![\w-])/g, 'model'],
]

/** A command to type in a terminal, which keeps its flags. */
const command = /\bbaton [a-z]+[^;,]*/g

/** A message or hint in the words of requests: the field `vars.language` instead of the flag `--var language=…`. */
export function requestWords(text: string): string {
  const commands = text.match(command) ?? []
  const others = text.split(command).map((part) => words.reduce((now, [flag, field]) => now.replace(flag, field), part))
  return others.map((part, index) => `${part}${commands[index] ?? ''}`).join('')
}
