// The reference of streams.mjs: requests a number of answers concurrently with bare fetch, reads their lines, parses
// each event and prints the texts. Arguments: base URL, number of answers.
const [baseUrl, count] = process.argv.slice(2)
const texts = await Promise.all(Array.from({ length: Number(count) }, ask))
process.stdout.write(texts.map((text) => `${text}\n`).join(''))

async function ask(_, index) {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bench', stream: true, messages: [{ role: 'user', content: `question ${index}` }] }),
  })
  const decoder = new TextDecoder()
  let rest = ''
  let text = ''
  // a reader is faster than for await
  const reader = response.body.getReader()
  for (;;) {
    const { value: bytes, done } = await reader.read()
    if (done) return text
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
      text += JSON.parse(line.slice(6)).choices[0].delta.content ?? ''
    }
  }
}
