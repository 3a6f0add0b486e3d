import type { Renderer, Write } from './renderer.ts'

export interface JsonOptions {
  /** `all` adds the pieces of answers as they stream in. */
  readonly detail: 'steps' | 'all'
}

/** JSON lines: one event per line, LF only, the terminal event last (spec/conventions.md 4.8). */
export function createJsonRenderer(write: Write, { detail }: JsonOptions): Renderer {
  return {
    event(event) {
      if (event.type === 'item.delta' && detail === 'steps') return
      write(`${JSON.stringify(event)}\n`)
    },
    close() {},
  }
}
