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
  description: `Replace a text in a file. old_text must be exactly what the file holds, with its indentation and without line numbers, and must stand there only once: add lines around it until it does, or set all. The line endings of the file are kept. An empty new_text takes the text away, and its line when nothing else is on it. An empty old_text makes a file that does not exist.`,
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: 'The file, from the base folder.' },
      old_text: { type: 'string', description: 'What is to be replaced.' },
      new_text: { type: 'string', description: 'What is to stand there.' },
      all: { type: 'boolean', description: 'Replace it in every place; default false.' },
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
