import { modelText } from '../../base/model-text.ts'
import { changeFile } from './change-file.ts'
import { pathSubject } from './paths.ts'
import { defineTool } from './kind.ts'
import { type FileDirective, previewChange } from './plan-file-change.ts'

interface EditInput {
  readonly path: string
  readonly old_text: string
  readonly new_text: string
  readonly all?: boolean
}

/** Replaces a text in a file. */
export const edit = defineTool<EditInput>({
  name: 'edit',
  description: modelText`Replace text in a file. old_text must match the file exactly, including indentation and without line numbers, and must occur only once: include surrounding lines to make it unique, or set all. The line endings of the file are kept. An empty new_text deletes the text, and its line if nothing else is on it. An empty old_text creates a file that does not exist.`,
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: modelText`The file, relative to the base folder.` },
      old_text: { type: 'string', description: modelText`The text to replace.` },
      new_text: { type: 'string', description: modelText`The replacement.` },
      all: { type: 'boolean', description: modelText`Replace all occurrences; default: false.` },
    },
    required: ['path', 'old_text', 'new_text'],
    additionalProperties: false,
  },
  subject: ({ path }, box) => pathSubject(path, box),
  preview: (input, call) => previewChange(toDirective(input), call),
  run: (input, call) => changeFile(toDirective(input), call),
})

function toDirective({ path: filePath, old_text: search, new_text: content, all = false }: EditInput): FileDirective {
  return { kind: 'Replace', filePath, search, content, all }
}
