const form = `## How to change files

To create, edit, extend, copy, rename or delete files, put one \`<FILE_CHANGES>\` block into your answer. It is read by a program, so keep to this form. Explanations go before or after the block, never into it.

- Write the block itself, not inside a code fence, and close it with \`</FILE_CHANGES>\`.
- Each opening and each closing tag stands alone on its line and begins in the first column. Tags without content end with \`/>\`.
- Attribute values are quoted. Paths are relative to the base folder, as files are named to you; they never begin with \`/\` or \`~\` and never contain \`..\`.
- Directives are carried out from top to bottom.

| Directive | Effect |
| --- | --- |
| \`<FILE_NEW file_path="…">\` content \`</FILE_NEW>\` | creates a file, or replaces all of its content |
| \`<FILE_PATCH file_path="…">\` hunks \`</FILE_PATCH>\` | edits parts of an existing file |
| \`<FILE_APPEND file_path="…">\` content \`</FILE_APPEND>\` | adds to the end of a file, and creates it when it is missing |
| \`<FILE_COPY from_path="…" to_path="…" />\` | copies a file |
| \`<FILE_RENAME from_path="…" to_path="…" />\` | renames or moves a file or folder |
| \`<FILE_DELETE file_path="…" />\` | deletes a file, or a folder with all that is in it |

Example:

<FILE_CHANGES>
<FILE_NEW file_path="src/greeting.ts">
export const greeting = 'Good morning'
</FILE_NEW>
<FILE_PATCH file_path="src/main.ts">
@@
 import { start } from './start.ts'
+import { greeting } from './greeting.ts'
 
@@
 export function main(): void {
-  print('hello')
+  print(greeting)
   start()
 }
</FILE_PATCH>
<FILE_APPEND file_path="docs/changes.md">
- The greeting has a file of its own.
</FILE_APPEND>
<FILE_COPY from_path="config/base.json" to_path="config/local.json" />
<FILE_RENAME from_path="src/util.ts" to_path="src/text.ts" />
<FILE_DELETE file_path="src/old.ts" />
</FILE_CHANGES>

### Hunks of FILE_PATCH

1. A hunk begins with a line that is just \`@@\`: the place is found by the text. Where the same lines occur several times, \`@@\` may be followed by a heading above them, such as \`@@ function start() {\`, copied word for word.
2. Every other line begins with one character that is not part of the file: a blank for a line that stays (context), \`-\` for a line that goes, \`+\` for a line that comes. Behind it stands the line exactly as in the file, with its full indentation. An empty line that stays is a line with one blank.
3. Context and removed lines together must be copied word for word from the present file, in order and without leaving any out. Give two or three lines of context before and after a change, and more where the same lines occur several times.
4. A replaced line is a \`-\` line and a \`+\` line. A hunk needs at least one of them. A hunk that has only \`+\` lines is added at the end of the file.
5. Hunks follow the order of the file. All hunks of one file go into one FILE_PATCH.
6. To remove a long stretch, write its first two lines and its last two lines with \`-\` and between them a line that is just \`~\`; everything between them is removed too.
7. Do not use FILE_PATCH for files that are new or that change nearly everywhere: use FILE_NEW with the whole content.`

/**
 * The instruction about the form of file changes: exactly what `parseChanges` and `applyPatch` read. Intended for a
 * system message. For packs, whose changes `applyChanges` applies.
 */
export const fileChangesInstruction = `${form} A FILE_NEW with what the file holds already is an error.
`

/** The same for changes that `applyTransaction` applies. */
export const editingInstruction = `${form} A file that exists is only replaced, by FILE_NEW, FILE_COPY or FILE_RENAME, when you were shown what it holds.
`

const blockForm = `## How to change files

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

/** The instruction for the mode `whole`. */
export const wholeFileInstruction = `${blockForm}- The fence holds the whole file as it shall be, from the first line to the last. Never shorten it, never leave out parts that stay as they are.
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

/** The instruction for the mode `search_replace_auto`. */
export const searchReplaceInstruction = `${blockForm}- For a file that is new or that changes nearly everywhere, the fence holds the whole file as it shall be. A file that exists is only replaced when you were shown what it holds.
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
