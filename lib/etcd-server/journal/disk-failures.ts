/** Failures of the disk, as what is wrong and what to do about it. */

import { CacheError } from '@watchglass/base'

/** True for a disk without space, which may have some later. */
export function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error))
}

/** A failure to use the file or folder at `path`. A failure that says enough already stays. */
export function diskFailure(path: string, error: unknown): CacheError {
  if (error instanceof CacheError) return error
  const message = `${path} ${adviceFor(codeOf(error)) ?? `cannot be used: ${textOf(error)}`}`
  return new CacheError('source_failed', message, { cause: error })
}

function adviceFor(code: string): string | undefined {
  switch (code) {
    case 'ENOSPC':
      return 'cannot be written, the disk is full: free some space there'
    case 'EDQUOT':
      return 'cannot be written, the quota is used up: raise it, or free some space there'
    case 'EACCES':
    case 'EPERM':
      return `cannot be used, permission denied: let user ${userId()} read and write it, or name another folder`
    case 'EROFS':
      return 'cannot be written, the file system is read-only: name a folder elsewhere'
    case 'ENOTDIR':
    case 'EEXIST':
      return 'is not a folder: name another one'
    default:
      return undefined
  }
}

function userId(): string {
  return String(process.getuid?.() ?? 'of this process')
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
