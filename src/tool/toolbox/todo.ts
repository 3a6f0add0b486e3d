import { modelText } from '../../base/model-text.ts'
import { defineTool } from './kind.ts'

interface TodoInput {
  readonly todos: readonly { readonly content: string; readonly status: 'pending' | 'in_progress' | 'completed' }[]
}

const marks = { pending: '[ ]', in_progress: '[~]', completed: '[x]' } as const

/** Keeps a list of steps visible to the model: each call passes the whole current list. */
export const todo = defineTool<TodoInput>({
  name: 'todo',
  description: modelText`Keep a list of the steps of a longer task. Pass the whole list each time: completed steps, the step in progress (one at a time), and pending steps.`,
  parameters: {
    type: 'object',
    properties: {
      todos: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            content: { type: 'string', minLength: 1, description: modelText`The step, in a few words.` },
            status: { enum: ['pending', 'in_progress', 'completed'] },
          },
          required: ['content', 'status'],
          additionalProperties: false,
        },
      },
    },
    required: ['todos'],
    additionalProperties: false,
  },
  async run({ todos }) {
    if (todos.length === 0) return { text: modelText`The list is empty.` }
    return { text: todos.map(({ content, status }) => `- ${marks[status]} ${content}`).join('\n') }
  },
})
