/** Recordings of other tools, read and written: one module for those who load them. */

export { isTrace, traceHistory } from './simkube.ts'
export { PackProblem } from './msgpack.ts'
export { kwokHistory } from './kwok.ts'
export { listedObjects } from './listed-objects.ts'
export { namespaceObject } from './namespace-object.ts'
export { ObjectHistory } from './object-history.ts'
export { TraceWriter } from './simkube-writer.ts'
export { KwokWriter } from './kwok-writer.ts'
