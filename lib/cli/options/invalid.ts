/** The refusal of what was asked for: the program prints it in one line, and exits with 2. */

import { CacheError } from '@watchglass/base'

export function invalid(message: string, cause?: unknown): CacheError {
  return new CacheError('invalid_request', message, cause === undefined ? {} : { cause })
}
