const start = `## How to change files

Give every file that you create or change as one block in your answer. The blocks are read by a program, so keep to this form. Explanations go before, between or behind the blocks, never into them.

- A block is \`<AIP_FILE_CHANGE file_path="…">\`, a fence of four backticks, and \`</AIP_FILE_CHANGE>\`. Each tag and each end of the fence stands alone on its line and begins in the first column.
- If the content has four backticks at the start of a line itself, the fence has five, and so on.
- Attribute values are quoted. Paths are relative to the base folder, as files are named to you; they never begin with \`/\` or \`~\` and never contain \`..\`.
- Files that are copied, renamed or deleted need no block, just one line, outside of any fence:
  - \`<FILE_COPY from_path="…" to_path="…" />\`
  - \`<FILE_RENAME from_path="…" to_path="…" />\`
  - \`<FILE_DELETE file_path="…" />\` for a file, or a folder with all that is in it
- Blocks and lines are carried out from top to bottom.
`

/** What a model is told in the mode `whole`. */
export const wholeFileInstruction = `${start}- The fence holds the whole file as it shall be, from the first line to the last. Never shorten it, never leave out parts that stay as they are.
- Leave out files that do not change.
- A file that exists is only replaced when you were shown what it holds.

Example:

<AIP_FILE_CHANGE file_path="src/greeting.ts">
\`\`\`\`ts
export const greeting = 'Good morning'
\`\`\`\`
</AIP_FILE_CHANGE>

<FILE_DELETE file_path="src/old.ts" />
`

/** What a model is told in the mode `search_replace_auto`. */
export const searchReplaceInstruction = `${start}- For a file that is new or that changes nearly everywhere, the fence holds the whole file as it shall be. A file that exists is only replaced when you were shown what it holds.
- For all other files it holds search and replace parts, and nothing else. A part is: a line \`<<<<<<< SEARCH\`, lines of the file as it is now, a line \`=======\`, the lines to put there, a line \`>>>>>>> REPLACE\`.
- The lines to search are whole lines, copied letter by letter with their full indentation, without leaving any out. Take as many as it needs to mean one place: the first place that fits is replaced.
- Parts are carried out one after the other. No lines between \`=======\` and \`>>>>>>> REPLACE\` remove what was found; no lines to search put the new ones at the start of the file.
- One block for each file, with all its parts.

Example:

<AIP_FILE_CHANGE file_path="src/main.ts">
\`\`\`\`ts
<<<<<<< SEARCH
  print('hello')
=======
  print(greeting)
>>>>>>> REPLACE
<<<<<<< SEARCH
import { start } from './start.ts'
=======
import { start } from './start.ts'
import { greeting } from './greeting.ts'
>>>>>>> REPLACE
\`\`\`\`
</AIP_FILE_CHANGE>

<AIP_FILE_CHANGE file_path="src/greeting.ts">
\`\`\`\`ts
export const greeting = 'Good morning'
\`\`\`\`
</AIP_FILE_CHANGE>

<FILE_RENAME from_path="src/util.ts" to_path="src/text.ts" />
`
