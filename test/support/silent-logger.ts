/** A logger that discards everything. */

export { silentLogger } from '../../lib/base/logger.ts'
