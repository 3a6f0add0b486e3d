// The reference of tools.mjs: the requests of a tool loop with bare fetch. It reads the lines of each answer, keeps the
// call, and sends the whole conversation with a result of the same size in the next request. Arguments: base URL, and
// the file whose text is the result of each call.
import { readFileSync } from 'node:fs'

const [baseUrl, file] = process.argv.slice(2)
const tools = [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }]
const messages = [{ role: 'user', content: 'Read all files.' }]
for (;;) {
  const { text, call } = await ask()
  if (call === undefined) {
    process.stdout.write(`${text}\n`)
    break
  }
  messages.push(
    { role: 'assistant', content: text, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: readFileSync(file, 'utf8') },
  )
}

async function ask() {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bench', stream: true, messages, tools }),
  })
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let rest = ''
  let text = ''
  let call
  for (;;) {
    const { value: bytes, done } = await reader.read()
    if (done) return { text, call }
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
      const { content, tool_calls: calls } = JSON.parse(line.slice(6)).choices[0].delta
      text += content ?? ''
      if (calls !== undefined) call = calls[0]
    }
  }
}
