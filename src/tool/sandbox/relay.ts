import { shellWord } from '../../base/command.ts'
import { givenFolder } from './bwrap.ts'

/** Where programs of a box find the proxy: the box has a network of its own, with nobody else in it. */
export const proxyPort = 3128

/** What the socket of the proxy is called among what a box is given. */
export const socketName = 'proxy.sock'

const socket = `${givenFolder}/${socketName}`

/**
 * Runs in the box: takes connections to the port, and leads them to the socket of the proxy outside. One who has said that
 * there is nothing more to come is still answered.
 */
const program = `
const net = require('node:net')
net.createServer({ allowHalfOpen: true }, (inner) => {
  const outer = net.connect({ path: '${socket}', allowHalfOpen: true })
  const end = () => { inner.destroy(); outer.destroy() }
  for (const side of [inner, outer]) side.on('error', end)
  inner.pipe(outer).pipe(inner)
}).listen(${proxyPort}, '127.0.0.1', () => require('node:fs').writeSync(1, '\\n'))
`

/** What the shell of a box does before the command: starts the relay, which is nobody's child, and waits for it. */
export function relayStart(node: string): string {
  const ready = '/run/ready'
  return [
    `mkfifo ${ready}`,
    `(${shellWord(node)} -e ${shellWord(program)} >${ready} 2>/dev/null </dev/null &)`,
    `read -r started <${ready}`,
    `rm -f ${ready}`,
  ].join('\n')
}
