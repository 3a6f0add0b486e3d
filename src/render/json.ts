import type { Renderer, Write } from './renderer.ts'

/** JSON lines: every event on one line, LF only, the terminal event last (spec/conventions.md 4.8). */
export function createJsonRenderer(write: Write): Renderer {
  return {
    event: (event) => write(`${JSON.stringify(event)}\n`),
    close() {},
  }
}

/** The same JSON for a terminal: characters that JSON lets through, and terminals obey, are escaped as well. */
export function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (found) => String.raw`\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
