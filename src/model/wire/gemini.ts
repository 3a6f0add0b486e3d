import type { WireFormat } from './format.ts'
import { geminiBody } from './gemini-request.ts'
import { endOfGemini, geminiStart, readGeminiBody, readGeminiEvent, type GeminiState } from './gemini-stream.ts'

/** Google's own Gemini API. The base URL ends in `/v1beta`. */
export const geminiFormat: WireFormat<GeminiState> = {
  name: 'gemini',
  path: ({ model }) => `/${modelPath(model)}:streamGenerateContent?alt=sse`,
  keyHeaders: (apiKey) => ({ 'x-goog-api-key': apiKey }),
  headers: {},
  body: geminiBody,
  start: geminiStart,
  read: readGeminiEvent,
  readBody: readGeminiBody,
  end: endOfGemini,
}

/** A name with a slash (`tunedModels/…`) is a path already. */
function modelPath(model: string): string {
  const path = model.includes('/') ? model : `models/${model}`
  return path.split('/').map(encodeURIComponent).join('/')
}
