import type { WireFormat } from './format.ts'
import { responsesBody } from './responses-request.ts'
import {
  endOfResponse,
  readResponse,
  readResponseEvent,
  responsesStart,
  type ResponsesState,
} from './responses-stream.ts'

/** OpenAI's Responses API (R277, R283, R284). */
export const responsesFormat: WireFormat<ResponsesState> = {
  name: 'responses',
  path: () => '/responses',
  keyHeaders: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  headers: {},
  body: responsesBody,
  start: responsesStart,
  read: readResponseEvent,
  readBody: readResponse,
  end: endOfResponse,
}
