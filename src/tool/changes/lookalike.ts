import { type Directive, failDirective } from './directive.ts'
import type { Piece } from './pieces.ts'

interface Lookalike {
  readonly mark: RegExp
  readonly what: string
}

const inForm = 'write it as the instruction for file changes says'

/** How edits in other forms, or in places where they do not count, start. */
const lookalikes: readonly Lookalike[] = [
  {
    mark: /^[^\n`]*(?:<|\[\[\[)(?:FILE_(?:NEW|PATCH|APPEND|COPY|RENAME|DELETE)|AIP_FILE_CHANGE)\s+\w+\s*=/m,
    what: 'contains a file change that is indented, quoted, in a fence or in the middle of a line, and was not applied: if you mean it, write it outside a fence, starting in the first column',
  },
  {
    mark: /^[ \t>]*<{5,9} ?SEARCH>?\s*$/m,
    what: 'contains a search and replace block that is indented, quoted or in a fence with other text, and was not applied: if you mean it, write it starting in the first column',
  },
  {
    mark: /^\*\*\* (?:Begin Patch|Update File: |Add File: |Delete File: )/m,
    what: `contains a patch in an unsupported form: ${inForm}`,
  },
  {
    mark: /^[ \t>]*(?:-{5,9} ?SEARCH|<{5,9} ?ORIGINAL)\b/m,
    what: `contains a search and replace block with different markers: ${inForm}`,
  },
  {
    mark: /^[ \t>]*(?:<|\[\[\[)[Ff]ile_?(?:[Cc]hanges|[Nn]ew|[Pp]atch|[Aa]ppend|[Cc]opy|[Rr]ename|[Dd]elete)\b/m,
    what: `contains a tag for a file change that is not in capital letters: ${inForm}`,
  },
  {
    mark: /^[ \t]*<(?:write_to_file|write_file|create_file|edit_file|replace_in_file|apply_diff|search_and_replace|tool_call|function_calls)>/m,
    what: `calls a tool that does not exist: ${inForm}`,
  },
  {
    mark: /(?:^|[{,])[ \t]*"(?:old|new)_str(?:ing)?"[ \t]*:/m,
    what: `contains JSON that describes a replacement: ${inForm}`,
  },
  {
    mark: /^[ \t>]*--- \S.*\r?\n[ \t>]*\+\+\+ \S.*\r?\n[ \t>]*@@/m,
    what: 'contains a unified diff that was not applied: if you mean it, write it into a fence of its own that begins with ```diff',
  },
  {
    mark: /^(?:`{3,}|~{3,})(?:diff|patch)\b[^\n]*\n(?:(?![`~+-])[^\n]*\n)*[+-]/m,
    what: 'contains a diff that names no file: begin it with the lines --- and +++ that name it',
  },
  {
    mark: /^<(?:file|write_file|write_to_file|create_file|edit_file|edit|replace|str_replace|apply_diff|boltAction)\s[^>\n]*?(?:path|name|file)\w{0,20}[ \t]*=/im,
    what: `contains a tag that is not a file change here: ${inForm}`,
  },
]

/** The fault for text that looks like a change, in an answer without any. Reasoning and comments do not count. */
export function findLookalike(pieces: readonly Piece[]): Directive | undefined {
  const text = pieces
    .map((piece) =>
      piece.kind === 'text' && piece.isAside === true ? piece.text.replaceAll(/[^\n]+/g, '') : piece.text,
    )
    .join('')
  const found = lookalikes.flatMap(({ mark, what }) => {
    const at = text.search(mark)
    return at === -1 ? [] : [{ what, line: text.slice(0, at).split('\n').length }]
  })[0]
  return found === undefined ? undefined : failDirective('lookalike', `line ${found.line} of the answer ${found.what}`)
}
