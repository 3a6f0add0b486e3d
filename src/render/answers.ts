import type { Renderer, Write } from './renderer.ts'

/**
 * The result on stdout and nothing else (DESIGN 12). A prompt file: the final answer of each task, headed by its label
 * when there are several. An agent: what AIPack users expect, `print` and string outputs.
 */
export function createAnswerRenderer(write: Write): Renderer {
  let target: 'prompt' | 'agent' = 'prompt'
  let answers = 0

  return {
    event(event) {
      switch (event.type) {
        case 'run.started':
          target = event.target
          return
        case 'answer':
          if (event.count > 1) write(`${answers > 0 ? '\n' : ''}==> ${event.label} <==\n`)
          write(withNewline(event.text))
          answers += 1
          return
        case 'print':
          if (target === 'agent') write(withNewline(event.text))
          return
        case 'output':
          if (typeof event.output === 'string') write(withNewline(event.output))
          return
        default:
      }
    },
    close() {},
  }
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}
