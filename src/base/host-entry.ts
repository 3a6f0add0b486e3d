/*
 * Hosts in lists of settings: `host`, `*.host` for its subdomains, `host:port`. Without a port, 80 and 443 are meant.
 * An IPv6 address is in brackets.
 */

const form = /^(?:(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

/** Whether a text names hosts in this form. */
export function isHostEntry(text: string): boolean {
  return form.test(text)
}

/** Whether `wide` allows every address that `narrow` allows; both are `host`, `*.host` or `host:port`. */
export function coversHost(wide: string, narrow: string): boolean {
  const [a, b] = [hostParts(wide), hostParts(narrow)]
  if (a.port !== undefined && a.port !== b.port) return false
  if (a.port === undefined && b.port !== undefined && b.port !== '80' && b.port !== '443') return false
  if (!a.name.startsWith('*.')) return a.name === b.name
  return b.name.endsWith(a.name.slice(1)) && b.name.length > a.name.length - 1
}

function hostParts(written: string): { readonly name: string; readonly port: string | undefined } {
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/s.exec(written) ?? []
  return { name: name.toLowerCase(), port }
}

/** A single host as addresses contain it: without the port of https. Undefined for anything else, such as a pattern. */
export function exactHost(text: string): string | undefined {
  const address = `https://${text}`
  return isHostEntry(text) && !text.startsWith('*') && URL.canParse(address) ? new URL(address).host : undefined
}

/** Whether what is sent there cannot be read on its way: by https, or to this machine. */
export function isSecureAddress({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true
  return protocol === 'http:' && /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])$/.test(hostname)
}
