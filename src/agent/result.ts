import type { AgentResult } from '../event/agent.ts'
import { noUsage } from '../event/message.ts'

/** A result in which nothing happened; what did is spread over it. */
export const emptyResult: AgentResult = {
  stopReason: 'done',
  text: '',
  outputs: [],
  failedInputs: 0,
  afterAll: undefined,
  skipReason: undefined,
  redoRequested: false,
  messages: [],
  toolUseCount: 0,
  usage: noUsage,
}
