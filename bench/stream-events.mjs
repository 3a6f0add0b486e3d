/** One event of a chat completion stream. */
export function eventOf(delta, finish = null) {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 0, model: 'bench', choices })}\n\n`
}

/** The end of an answer. */
export const finishEvents = `${eventOf({}, 'stop')}data: [DONE]\n\n`
