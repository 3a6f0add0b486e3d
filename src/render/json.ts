import type { Renderer, Write } from './renderer.ts'

/** JSON lines: every event on one line, LF only, the terminal event last (spec/conventions.md 4.8). */
export function createJsonRenderer(write: Write): Renderer {
  return {
    event: (event) => write(`${JSON.stringify(event)}\n`),
    close() {},
  }
}
