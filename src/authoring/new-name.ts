import { BatonError } from '../base/error.ts'
import { parsePackRef } from '../pack/pack-ref.ts'
import { type PackName, refuseReserved } from '../pack/reserved.ts'

/**
 * A name that a file can be made of.
 * @throws BatonError USAGE
 */
export function checkFileName(name: string, kind: 'prompt' | 'agent'): void {
  const reason = whyNoFile(name)
  if (reason === undefined) return
  throw new BatonError('USAGE', `a new ${kind} cannot be called ${JSON.stringify(name)}: ${reason}`, {
    hint: `Write a name or a path, for example baton new ${kind} ${kind === 'prompt' ? 'review' : 'lint'}.`,
  })
}

function whyNoFile(name: string): string | undefined {
  if (name.trim() === '') return 'it is empty'
  if (/\p{Cc}/u.test(name)) return 'it holds a control character'
  if (/(?:^|[/\\])\.{0,2}$/.test(name)) return 'it names a folder'
  return undefined
}

/**
 * Reads `namespace@name`.
 * @throws BatonError USAGE
 */
export function readPackName(text: string): PackName {
  const [, namespace, name] = /^([\w-]+)[/:.]([\w-]+)$/.exec(text) ?? []
  const hint =
    namespace === undefined || name === undefined
      ? 'Write baton new pack namespace@name, for example baton new pack demo@notes.'
      : `Did you mean ${namespace}@${name}?`
  const ref = readReference(text, hint)
  if (ref.namespace === undefined || ref.subPath !== undefined || ref.scope !== 'pack') {
    throw new BatonError('USAGE', `${JSON.stringify(text)} is not the name of a pack`, { hint })
  }
  const pack = { namespace: ref.namespace, name: ref.name }
  refuseReserved(pack)
  return pack
}

function readReference(text: string, hint: string): ReturnType<typeof parsePackRef> {
  try {
    return parsePackRef(text)
  } catch (cause) {
    throw new BatonError('USAGE', `${JSON.stringify(text)} is not the name of a pack`, { hint, cause })
  }
}
