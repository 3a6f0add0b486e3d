import { changeFile } from './change-file.ts'
import { pathSubject } from './paths.ts'
import { defineTool } from './kind.ts'
import { type FileDirective, previewChange } from './plan-file-change.ts'

interface WriteInput {
  readonly path: string
  readonly content: string
}

/** Creates a file, or replaces the whole content of one that the model has seen. */
export const write = defineTool<WriteInput>({
  name: 'write',
  description: `Write a whole file. Folders on the way are made. A file that is there already is replaced only if you have seen all of what it holds now: it was shown to you, you have read it, or you wrote it. To change a part of a file, use edit. A file with CR LF line endings keeps them.`,
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: 'The file, from the base folder.' },
      content: { type: 'string', description: 'All that it is to hold.' },
    },
    required: ['path', 'content'],
    additionalProperties: false,
  },
  subject: ({ path }, box) => pathSubject(path, box),
  preview: (input, call) => previewChange(toDirective(input), call),
  run: (input, call) => changeFile(toDirective(input), call),
})

function toDirective({ path: filePath, content }: WriteInput): FileDirective {
  return { kind: 'New', filePath, content }
}
