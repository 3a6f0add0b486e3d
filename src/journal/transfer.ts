import type { FilePort } from './file-port.ts'

/** Writes until every byte is written: a short write is not an error. */
export function writeAll(files: FilePort, descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) {
    const taken = files.write(descriptor, bytes, done)
    if (taken <= 0) throw new Error('the file system took no bytes')
    done += taken
  }
}

/** Reads until `target` is full or the file ends. Returns the number of bytes read. */
export async function readAll(
  files: FilePort,
  descriptor: number,
  { target, position }: { readonly target: Uint8Array; readonly position: number },
): Promise<number> {
  let done = 0
  while (done < target.length) {
    const count = await files.read(descriptor, target.subarray(done), position + done)
    if (count === 0) break
    done += count
  }
  return done
}
