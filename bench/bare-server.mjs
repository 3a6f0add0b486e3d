// A bare Hono server: accepts a prompt and streams one event for it. Prints its address.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
const encoder = new TextEncoder()
app.post('/prompt', async (context) => {
  await context.req.json()
  return context.json({ promptId: 'one' }, 202)
})
app.get('/api/runs/:id/events', () => {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode('id: 1\nevent: rows\ndata: {}\n\n')),
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}/`, secret: 'none' }))
})
