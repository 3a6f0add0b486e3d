import { BatonError } from './error.ts'
import { modelText } from './model-text.ts'
import { sizeText } from './size.ts'

interface UnpackOptions {
  /** Name of the document in messages. */
  readonly name: string
  /** Most bytes that its compressed parts may need. */
  readonly most?: number
}

/**
 * Runs a library that unpacks the parts of an untrusted document, and fails as soon as the byte arrays it has created
 * hold more than `most`. Their memory is outside the heap, which the limits of a thread cover, and the libraries
 * have no limit of their own. Parts count in every encoding, nested and encrypted ones too. Only for a thread without
 * other work, because the constructor of byte arrays is replaced in all of it.
 * @throws BatonError FILE_FAILED
 */
export async function withUnpackLimit<T>(
  { name, most = 128 * 1024 * 1024 }: UnpackOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { Uint8Array: array, DecompressionStream: stream } = globalThis
  let created = 0
  // an array that grows is copied into one of twice its size
  const isTooLarge = (): boolean => created > most * 2
  const tooLarge = (): BatonError =>
    new BatonError(
      'FILE_FAILED',
      modelText`${name} cannot be read: it needs more than ${sizeText(most)} when it is unpacked`,
      { hint: 'Read fewer pages at once, or save it again with another program.' },
    )
  const count = (bytes: number): void => {
    created += bytes
    if (isTooLarge()) throw tooLarge()
  }
  const countingArray = new Proxy(array, {
    construct(target, args: readonly unknown[], newTarget: typeof array) {
      if (typeof args[0] === 'number') count(args[0])
      return Reflect.construct(target, args, newTarget)
    },
  })
  const countingStream = new Proxy(stream, {
    construct(target, args: ConstructorParameters<typeof stream>, newTarget: typeof stream) {
      const { readable, writable } = Reflect.construct(target, args, newTarget)
      const counter = new TransformStream<Uint8Array, Uint8Array>({
        transform(piece, output) {
          count(piece.length)
          output.enqueue(piece)
        },
      })
      return { readable: readable.pipeThrough(counter), writable }
    },
  })
  Object.assign(globalThis, { Uint8Array: countingArray, DecompressionStream: countingStream })
  try {
    const result = await work()
    // libraries take a part that fails for an empty one
    if (isTooLarge()) throw tooLarge()
    return result
  } catch (error) {
    throw isTooLarge() ? tooLarge() : error
  } finally {
    Object.assign(globalThis, { Uint8Array: array, DecompressionStream: stream })
  }
}
