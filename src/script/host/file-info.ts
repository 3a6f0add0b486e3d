import type { ReadContext } from '../../tool/guard.ts'
import { type FileStatus, fileStatus } from '../../tool/workspace-reads.ts'
import type { LuaTable } from './call.ts'
import { pathParts, tidyPath, tildePath } from './resolve-path.ts'

/**
 * A FileInfo table. `path` is shown as given, with `~` for the home folder. Without a status, times and size are
 * omitted. `ctime` equals `mtime`, as in AIPack; both are microseconds since 1970.
 */
export function fileInfo(path: string, status?: FileStatus): LuaTable {
  const shown = tildePath(tidyPath(path))
  const { parent, name, stem, ext } = pathParts(shown)
  const times = status === undefined ? {} : { ctime: status.modified, mtime: status.modified, size: status.size }
  return {
    _type: 'FileInfo',
    path: shown,
    dir: parent ?? '',
    name,
    stem,
    ext,
    ...times,
    // unknown extensions count as text, as in AIPack; the lists differ: this one names the formats that are not text
    is_likely_text: !binaryExtensions.has(ext.toLowerCase()),
  }
}

/** The FileInfo of a file that was just written: `path` as given, `file` its absolute path. */
export function infoOf(path: string, file: string, context: ReadContext): LuaTable {
  return fileInfo(path, fileStatus(file, context))
}

/** A FileRecord table: a FileInfo with the content. */
export function fileRecord(path: string, status: FileStatus | undefined, content: string): LuaTable {
  return { ...fileInfo(path, status), _type: 'FileRecord', content }
}

/** A FileStats table of these files; zeros if there are none. */
export function fileStats(statuses: readonly FileStatus[]): LuaTable {
  const times = statuses.map(({ modified }) => modified)
  const first = times.reduce((least, time) => Math.min(least, time), times[0] ?? 0)
  const last = times.reduce((most, time) => Math.max(most, time), 0)
  return {
    _type: 'FileStats',
    total_size: statuses.reduce((total, { size }) => total + size, 0),
    number_of_files: statuses.length,
    ctime_first: first,
    ctime_last: last,
    mtime_first: first,
    mtime_last: last,
  }
}

const binaryExtensions = new Set(
  (
    'png jpg jpeg gif webp avif heic bmp ico tif tiff psd mp3 wav flac ogg opus m4a aac mp4 m4v mov avi mkv webm wmv ' +
    'mpg mpeg 3gp flv swf aiff mid zip gz tgz bz2 xz zst 7z rar tar jar war apk ipa dmg iso deb rpm cab msi crx xpi vsix aipack pdf doc docx xls xlsx ppt pptx odt ' +
    'ods odp epub mobi msg ttf otf woff woff2 eot exe dll so dylib a o obj lib bin class pyc wasm node sqlite sqlite3 db db3 dat lockb der p12 pfx ' +
    'parquet npy npz onnx pt safetensors gguf glb dwg vhd torrent z'
  ).split(' '),
)
