import { modelText } from '../../base/model-text.ts'
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
  description: modelText`Write a whole file. Missing folders are created. An existing file is only replaced if you have seen all of its current content: it was given to you, you have read it, or you wrote it. To change part of a file, use edit. A file with CR LF line endings keeps them.`,
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: modelText`The file, relative to the base folder.` },
      content: { type: 'string', description: modelText`The full content.` },
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
