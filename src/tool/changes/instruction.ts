import { modelText } from '../../base/model-text.ts'

/** How a model writes file contents in its answer (`file_content_mode`). */
export type FileContentMode = 'udiffx' | 'whole' | 'search_replace_auto'

/** The instruction about the form of file changes, for a system message. `readFileChanges` reads all forms. */
export function changesInstruction(mode: FileContentMode): string {
  switch (mode) {
    case 'udiffx':
      return editingInstruction
    case 'whole':
      return wholeFileInstruction
    case 'search_replace_auto':
      return searchReplaceInstruction
  }
}

const form = modelText`## How to change files

To create, edit, extend, copy, rename or delete files, put one \`<FILE_CHANGES>\` block into your answer. A program reads it, so follow this format exactly. Explanations go before or after the block, never inside it.

- Write the block directly, not inside a code fence, and close it with \`</FILE_CHANGES>\`.
- Each opening and each closing tag is alone on its line and starts in the first column. Tags without content end with \`/>\`.
- Attribute values are quoted. Paths are relative to the base folder, as in the file names you were given; they never start with \`/\` or \`~\` and never contain \`..\`.
- Directives are applied from top to bottom.

| Directive | Effect |
| --- | --- |
| \`<FILE_NEW file_path="…">\` content \`</FILE_NEW>\` | creates a file, or replaces its entire content |
| \`<FILE_PATCH file_path="…">\` hunks \`</FILE_PATCH>\` | edits parts of an existing file |
| \`<FILE_APPEND file_path="…">\` content \`</FILE_APPEND>\` | appends to a file, and creates it if it is missing |
| \`<FILE_COPY from_path="…" to_path="…" />\` | copies a file |
| \`<FILE_RENAME from_path="…" to_path="…" />\` | renames or moves a file or folder |
| \`<FILE_DELETE file_path="…" />\` | deletes a file, or a folder with everything in it |

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
- The greeting has its own file.
</FILE_APPEND>
<FILE_COPY from_path="config/base.json" to_path="config/local.json" />
<FILE_RENAME from_path="src/util.ts" to_path="src/text.ts" />
<FILE_DELETE file_path="src/old.ts" />
</FILE_CHANGES>

### Hunks of FILE_PATCH

1. A hunk starts with a line that is just \`@@\`: the position is found by the text. If the same lines occur several times, \`@@\` may be followed by a heading above them, such as \`@@ function start() {\`, copied word for word.
2. Every other line starts with one character that is not part of the file: a space for a line that stays (context), \`-\` for a line to remove, \`+\` for a line to add. After it comes the line exactly as in the file, with its full indentation. An empty line that stays is a line with one space.
3. Context and removed lines must be copied word for word from the current file, in order and without skipping any. Give two or three lines of context before and after a change, and more if the same lines occur several times.
4. A replaced line is a \`-\` line and a \`+\` line. A hunk needs at least one of them. A hunk that has only \`+\` lines is added at the end of the file.
5. Hunks are in the order of the file. All hunks of one file go into one FILE_PATCH.
6. To remove a long section, write its first two and its last two lines with \`-\`, and between them a line that is just \`~\`; everything in between is removed too.
7. Do not use FILE_PATCH for new files or for files that change nearly everywhere: use FILE_NEW with the entire content.`

/**
 * The instruction about the form of file changes: exactly what `parseChanges` and `applyPatch` read. Intended for a
 * system message. For packs, whose changes `applyChanges` applies.
 */
export const fileChangesInstruction = modelText`${form} A FILE_NEW with the content that the file already has is an error.
`

/** The same for changes that `applyTransaction` applies. */
const editingInstruction = modelText`${form} An existing file is replaced by FILE_NEW, FILE_COPY or FILE_RENAME only if you were shown its content.
`

const blockForm = modelText`## How to change files

Write every file that you create or change as one block in your answer. A program reads the blocks, so follow this format exactly. Explanations go before, between or after the blocks, never inside them.

- A block is \`<AIP_FILE_CHANGE file_path="…">\`, a fence of four backticks, and \`</AIP_FILE_CHANGE>\`. Each tag and each end of the fence is alone on its line and starts in the first column.
- If the content itself has four backticks at the start of a line, the fence has five, and so on.
- Attribute values are quoted. Paths are relative to the base folder, as in the file names you were given; they never start with \`/\` or \`~\` and never contain \`..\`.
- Files that are copied, renamed or deleted need no block, just one line, outside of any fence:
  - \`<FILE_COPY from_path="…" to_path="…" />\`
  - \`<FILE_RENAME from_path="…" to_path="…" />\`
  - \`<FILE_DELETE file_path="…" />\` for a file, or a folder with everything in it
- Blocks and lines are applied from top to bottom.
`

/** The instruction for the mode `whole`. */
const wholeFileInstruction = modelText`${blockForm}- The fence contains the entire new file, from the first line to the last. Never shorten it, and never omit parts that stay as they are.
- Omit files that do not change.
- An existing file is replaced only if you were shown its content.

Example:

<AIP_FILE_CHANGE file_path="src/greeting.ts">
\`\`\`\`ts
export const greeting = 'Good morning'
\`\`\`\`
</AIP_FILE_CHANGE>

<FILE_DELETE file_path="src/old.ts" />
`

/** The instruction for the mode `search_replace_auto`. */
const searchReplaceInstruction = modelText`${blockForm}- For a new file or a file that changes nearly everywhere, the fence contains the entire new file. An existing file is replaced only if you were shown its content.
- For all other files it contains search and replace parts, and nothing else. A part is: a line \`<<<<<<< SEARCH\`, lines of the current file, a line \`=======\`, the lines to replace them with, a line \`>>>>>>> REPLACE\`.
- The lines to search for are whole lines, copied exactly with their full indentation, without skipping any. Include enough of them that they occur in one place only.
- Parts are applied one after the other. Without lines between \`=======\` and \`>>>>>>> REPLACE\`, the lines found are removed; without lines to search for, the new lines are inserted at the start of the file.
- Write one block per file, with all its parts.

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
