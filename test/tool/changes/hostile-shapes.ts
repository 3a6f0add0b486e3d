/** Creates a text of approximately this many characters. */
type Shape = (characters: number) => string

const repeated =
  (text: string): Shape =>
  (characters) =>
    text.repeat(Math.max(1, Math.floor(characters / text.length)))

const numbered =
  (text: (index: number) => string): Shape =>
  (characters) => {
    const parts: string[] = []
    for (let length = 0, index = 0; length < characters; index += 1) {
      const part = text(index)
      parts.push(part)
      length += part.length
    }
    return parts.join('')
  }

const inContainer =
  (shape: Shape): Shape =>
  (characters) =>
    `<FILE_CHANGES>\n${shape(characters)}</FILE_CHANGES>\n`

const letters = (index: number): string => String(index).replaceAll(/\d/g, (digit) => 'ABCDEFGHIJ'[Number(digit)] ?? '')
const create = (index: number): string => `<FILE_NEW file_path="f${index}">`

/** Texts that make a naive reader scan the whole answer for each of their lines or characters. */
export const hostileShapes: Readonly<Record<string, Shape>> = {
  'changes that are never closed': numbered((index) => `${create(index)}\nx\n`),
  'changes that are never closed, ever further to the right': inContainer(
    numbered((index) => `${' '.repeat(index % 300)}${create(index)}\n`),
  ),
  'changes that end at the end of a line': numbered((index) => `${create(index)}\nx </FILE_NEW>\n`),
  'changes with a fence that is never closed': numbered((index) => `${create(index)}\n\`\`\`\`ts\n`),
  'changes with many empty lines': numbered((index) => `${create(index)}\n${'\n'.repeat(100)}`),
  'changes in one line': numbered((index) => `<FILE_DELETE file_path="f${index}" />`),
  'open changes in one line': numbered((index) => `<FILE_DELETE file_path="f${index}">`),
  'one change and the ends of many': (characters) => `${create(0)}\n${repeated('</FILE_NEW>\n')(characters)}`,
  'ends of changes': repeated('</FILE_NEW>\n'),
  containers: repeated('<FILE_CHANGES>\n'),
  'containers in one line': repeated('<FILE_CHANGES>'),
  'containers in one line, each with a change': repeated('<FILE_CHANGES><FILE_DELETE file_path="a" /></FILE_CHANGES>'),
  'containers of two forms': repeated('<FILE_CHANGES>\n[[[FILE_CHANGES]]]\n'),
  'tags that are all different': inContainer(numbered((index) => `<T${letters(index)}>\n`)),
  'patches of one file': inContainer(repeated('<FILE_PATCH file_path="a">\n@@\n-a\n+b\n</FILE_PATCH>\n')),
  'marks of another form': inContainer(repeated('[[[FILE_NEW file_path="a"]]]\n')),
  'ends of reasoning': repeated('</think>\n'),
  'ends of reasoning behind changes': numbered((index) => `<FILE_DELETE file_path="f${index}" />\n</think>\n`),
  'reasoning that never ends': repeated('<think>\n<thinking>\n'),
  'comments that never end': repeated('<!--\n'),
  'files that are quoted without an end': repeated('<file path="a" lines="3">\n'),
  fences: repeated('```ts\n'),
  'fences that get longer': numbered((index) => `${'`'.repeat(3 + index)}ts\n`),
  'diffs in fences that get longer': numbered((index) => `${'`'.repeat(3 + index)}diff\n--- a\n+++ b\n@@\n`),
  'diffs without names': repeated('```diff\n@@\n-a\n```\n'),
  'a diff with empty lines of Windows': (characters) => `\`\`\`diff\n${repeated('\r\n')(characters)}`,
  'a diff of a name that goes on and on': (characters) =>
    `\`\`\`diff\ndiff --git a/${repeated(' b/')(characters)}\u2028\n\`\`\`\n`,
  'search and replace blocks without an end': repeated('<<<<<<< SEARCH\n=======\n'),
  'search and replace blocks without a file': repeated('text\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n'),
  'a name that goes on and on': (characters) => `${repeated('./')(characters)}.\n<<<<<<< SEARCH\n`,
  'a tag with many names of paths': (characters) => `<file ${repeated('pathname')(characters)}\n`,
  'a tag with many attributes': (characters) => `<FILE_NEW ${repeated('a="b" ')(characters)}\n`,
  'a tag with blanks': (characters) => `<FILE_NEW a${repeated(' ')(characters)}b\n`,
  'a tag whose value never ends': (characters) => `<FILE_NEW file_path="${repeated('a')(characters)}`,
  'tags in the middle of lines': repeated('x <FILE_NEW file '),
  'examples of the instruction': repeated(
    '<FILE_DELETE file_path="src/old.ts" />\n<FILE_NEW file_path="a">\n</FILE_NEW>\n',
  ),
  'empty lines': repeated('\n'),
  blanks: repeated(' '),
  'one line': repeated('<'),
}
