/** The faults of one request, as the API lets them happen. */

import type { Clock } from '@watchglass/base'
import type { FaultyWatch, HttpRequest, RequestFaults, ResponseStream } from '@watchglass/cache'
import type { Status } from '@watchglass/kube'
import type { WatcherSink } from '@watchglass/store'
import { ChosenFaults } from './chosen-faults.ts'
import { errorOfFault } from './fault-status.ts'
import { faultyRequest } from './faulty-request.ts'
import { faultyStream } from './faulty-stream.ts'
import { faultySink } from './faulty-watch.ts'

export class MetFaults extends ChosenFaults implements RequestFaults {
  applyTo(request: HttpRequest, clock: Clock): HttpRequest {
    return faultyRequest(request, this, clock)
  }

  applyToMessages(stream: ResponseStream, clock: Clock): ResponseStream {
    return faultyStream(stream, this, { clock, isWhole: true })
  }

  delayMs(): number {
    const latency = this.take('latency')
    if (latency === undefined) return 0
    return latency.minMs + this.amountOf('latency') * (latency.maxMs - latency.minMs)
  }

  failure(): Status | undefined {
    const error = this.take('error')
    return error && errorOfFault(error)
  }

  staleMs(): number | undefined {
    return this.take('stale')?.ageMs
  }

  dropsBookmarks(): boolean {
    return this.take('no-bookmarks') !== undefined
  }

  sink(watch: FaultyWatch): WatcherSink | undefined {
    return faultySink(watch, this)
  }
}
