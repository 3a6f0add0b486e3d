import { BatonError, messageOf } from '../base/error.ts'
import { downloadBytes } from '../base/http.ts'
import { packLimits } from './pack-limits.ts'
import { notedUrl } from './without-secrets.ts'

/**
 * The bytes at an http(s) URL.
 * @throws BatonError FILE_FAILED saying what went wrong; the reason of the signal
 */
export async function downloadArchive(url: URL, signal: AbortSignal): Promise<Uint8Array> {
  const response = await get(url, signal)
  if (response.status >= 200 && response.status < 300) return response.bytes
  throw failed(notedUrl(url).url, `the server answers with status ${response.status}`)
}

async function get(url: URL, signal: AbortSignal) {
  try {
    return await downloadBytes(
      {
        method: 'GET',
        url,
        headers: [['accept', 'application/zip, application/octet-stream, */*']],
        redirectLimit: 5,
        timeLimitMs: packLimits.downloadMs,
        maxBytes: packLimits.archiveBytes,
      },
      signal,
    )
  } catch (error) {
    signal.throwIfAborted()
    throw failed(notedUrl(url).url, messageOf(error), error)
  }
}

function failed(url: string, reason: string, cause?: unknown): BatonError {
  return new BatonError('FILE_FAILED', `${url} cannot be downloaded: ${reason}`, {
    hint: 'Check the address and the network; nothing was installed.',
    cause,
  })
}
