/** Traces by OpenTelemetry: OTLP over HTTP, as JSON. Its packages are optional, and are loaded only
 *  where an endpoint is named. Nothing that a client sent is in a span but its trace's ids. */

import {
  CacheError,
  type Clock,
  type Logger,
  type RequestTrace,
  type Stage,
  type TracedHeaders,
  type Tracer,
} from '@watchglass/base'

/** The parts of the packages that are used. They may be missing, so their own types are not. */
interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}
interface Span {
  spanContext(): SpanContext
  isRecording(): boolean
  updateName(name: string): void
  setAttributes(attributes: Readonly<Record<string, string | number>>): void
  setStatus(status: { readonly code: number }): void
  end(endMs: number): void
}
type Context = object
interface SpanTracer {
  startSpan(name: string, options: object, context: Context): Span
}
interface Api {
  readonly ROOT_CONTEXT: Context
  readonly trace: { setSpan(context: Context, span: Span): Context }
  readonly defaultTextMapGetter: object
  readonly diag: { setLogger(logger: object, options: object): void }
  readonly DiagLogLevel: { readonly WARN: number }
}
interface Propagator {
  extract(context: Context, carrier: object, getter: object): Context
}
interface Provider {
  getTracer(name: string, version: string): SpanTracer
  shutdown(): Promise<void>
}
interface Packages {
  readonly api: Api
  readonly core: { readonly W3CTraceContextPropagator: new () => Propagator }
  readonly exporter: { readonly OTLPTraceExporter: new (options: object) => object }
  readonly resources: { resourceFromAttributes(attributes: object): object }
  readonly sdk: {
    readonly BasicTracerProvider: new (options: object) => Provider
    readonly BatchSpanProcessor: new (exporter: object, options: object) => object
    readonly ParentBasedSampler: new (options: object) => object
    readonly AlwaysOnSampler: new () => object
  }
}

/** Names of the packages. In a variable, so that neither the compiler nor a bundler needs them. */
const packageNames: Readonly<Record<keyof Packages, string>> = {
  api: '@opentelemetry/api',
  core: '@opentelemetry/core',
  exporter: '@opentelemetry/exporter-trace-otlp-http',
  resources: '@opentelemetry/resources',
  sdk: '@opentelemetry/sdk-trace-base',
}

const serverKind = 1
const errorStatus = 2
const sampledFlag = 1

/** Spans that wait for the collector. */
const queueMaxSpans = 2048
/** Spans of one message, which is made in one turn of the event loop. */
const batchMaxSpans = 128
/** For a collector that does not answer, attempts together: the process waits for it when it
 *  stops. */
const exportMaxMs = 3_000

export interface Tracing {
  readonly tracer: Tracer
  /** Sends what is there, for a few seconds at most. */
  stop(): Promise<void>
}

export interface TracingOptions {
  /** The base of a collector, to which `/v1/traces` is added, or the whole address. */
  readonly endpoint: URL
  readonly version: string
  readonly clock: Clock
  readonly logger: Logger
}

export async function startTracing(
  { endpoint, version, clock, logger }: TracingOptions,
  importPackage: ImportPackage = name => import(name),
): Promise<Tracing> {
  const { api, core, exporter, resources, sdk } = await load(importPackage)
  const warn = (text: string): void => logger.warn('traces', { problem: text })
  const quiet = (): void => {}
  const log = { error: warn, warn, info: quiet, debug: quiet, verbose: quiet }
  api.diag.setLogger(log, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true })
  const url = endpoint.pathname === '/' ? new URL('/v1/traces', endpoint) : endpoint
  const timeoutMillis = exportMaxMs
  const spanExporter = new exporter.OTLPTraceExporter({ url: url.href, timeoutMillis })
  const batches = {
    maxQueueSize: queueMaxSpans,
    maxExportBatchSize: batchMaxSpans,
    // The limit above is one of silence: a collector that answers byte by byte meets this one.
    exportTimeoutMillis: exportMaxMs,
  }
  const provider = new sdk.BasicTracerProvider({
    resource: resources.resourceFromAttributes({
      'service.name': 'watchglass',
      'service.version': version,
    }),
    // A client that records its trace has ours recorded, and one that does not has not.
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    // When it is full, what comes meanwhile is dropped.
    spanProcessors: [new sdk.BatchSpanProcessor(spanExporter, batches)],
  })
  const parts = {
    api,
    clock,
    propagator: new core.W3CTraceContextPropagator(),
    spans: provider.getTracer('watchglass', version),
  }
  return {
    tracer: { begin: (headers, startMs) => begin(parts, headers, startMs) },
    async stop() {
      await provider.shutdown().catch((error: unknown) => warn(String(error)))
    },
  }
}

/** By the code of the error. */
const remedies: Readonly<Record<string, string>> = {
  ERR_MODULE_NOT_FOUND: `installed: npm install ${Object.values(packageNames).join(' ')}`,
  ERR_UNKNOWN_BUILTIN_MODULE:
    'in this executable file, which can load none: use the package of npm for traces',
}

type ImportPackage = (name: string) => Promise<unknown>

async function load(importPackage: ImportPackage): Promise<Packages> {
  const loaded: Partial<Record<keyof Packages, unknown>> = {}
  for (const [part, name] of Object.entries(packageNames) as [keyof Packages, string][]) {
    try {
      loaded[part] = await importPackage(name)
    } catch (error) {
      const remedy = remedies[String((error as { readonly code?: unknown }).code)]
      if (remedy === undefined) throw error
      const problem = `--otlp-endpoint needs packages that are optional, and ${name} is not`
      throw new CacheError('invalid_request', `${problem} ${remedy}`)
    }
  }
  return loaded as Packages
}

interface Parts {
  readonly api: Api
  readonly clock: Clock
  readonly propagator: Propagator
  readonly spans: SpanTracer
}

function begin(parts: Parts, headers: TracedHeaders, startMs: number): RequestTrace | undefined {
  const { api, clock, propagator, spans } = parts
  const parent = propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter)
  const baseMs = clock.wallMs() - clock.monotonicMs()
  const startTime = baseMs + startMs
  const span = spans.startSpan('request', { kind: serverKind, startTime }, parent)
  if (!span.isRecording()) return undefined
  const inside = api.trace.setSpan(parent, span)
  const stageSpan = (name: Stage, atMs: number): Span =>
    spans.startSpan(name, { startTime: atMs }, inside)
  let current = stageSpan('parse', startTime)
  let isOver = false
  return {
    stage(name) {
      if (isOver) return
      const nowMs = baseMs + clock.monotonicMs()
      current.end(nowMs)
      current = stageSpan(name, nowMs)
    },
    get traceparent() {
      const { traceId, spanId, traceFlags } = current.spanContext()
      return `00-${traceId}-${spanId}-${(traceFlags & sampledFlag) === 0 ? '00' : '01'}`
    },
    end(name, attributes) {
      if (isOver) return
      isOver = true
      const nowMs = baseMs + clock.monotonicMs()
      current.end(nowMs)
      span.updateName(name)
      span.setAttributes(attributes)
      if (Number(attributes['http.response.status_code']) >= 500) {
        span.setStatus({ code: errorStatus })
      }
      span.end(nowMs)
    },
  }
}
