import { PassThrough } from 'node:stream'

/** A terminal as a program sees it: in raw mode each key, otherwise a line when it is complete, with a line feed. */
export class FakeTerminal extends PassThrough {
  readonly isTTY = true
  private isRaw = false
  private kept = ''

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw
    if (isRaw && this.kept !== '') this.write(this.kept)
    if (isRaw) this.kept = ''
    return this
  }

  type(keys: string): void {
    if (this.isRaw) return void this.write(keys)
    this.kept += keys.replaceAll('\r', '\n')
    const end = this.kept.lastIndexOf('\n') + 1
    if (end === 0) return
    this.write(this.kept.slice(0, end))
    this.kept = this.kept.slice(end)
  }
}
