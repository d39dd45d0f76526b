/** Imported first by the processes of tests. Tap follows every promise and socket with an async
 *  hook, to tell of which test an uncaught error is. That makes each `await` several times as slow,
 *  up to a quarter of a file's time on the processor. Without it, an uncaught error ends the
 *  process, which fails the file; the command that runs it again has the hook. */

import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const silent: asyncHooks.AsyncHook = { enable: () => silent, disable: () => silent }
asyncHooks.createHook = () => silent
syncBuiltinESMExports()
