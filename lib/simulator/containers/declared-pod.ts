/** The parts of a pod that say how its containers go. */

type Texts = Readonly<Record<string, string>>

export interface DeclaredPod {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Texts
  }
  readonly spec: DeclaredSpec
  readonly status?: { readonly podIP?: string }
}

export interface DeclaredSpec {
  readonly containers: readonly PodContainer[]
  readonly initContainers?: readonly PodContainer[]
  readonly activeDeadlineSeconds?: number
  readonly readinessGates?: readonly { readonly conditionType: string }[]
  readonly volumes?: readonly PodVolume[]
  /** The resources of the whole pod, in place of the sum. */
  readonly resources?: ContainerResources
  readonly overhead?: Texts
}

export interface PodContainer {
  readonly name: string
  readonly image?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: {
      readonly configMapKeyRef?: KeyReference
      readonly secretKeyRef?: KeyReference
    }
  }[]
  readonly envFrom?: readonly {
    readonly configMapRef?: NamedReference
    readonly secretRef?: NamedReference
  }[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
  readonly resources?: ContainerResources
  /** `Always` makes an init container a sidecar. */
  readonly restartPolicy?: string
  readonly readinessProbe?: ContainerProbe
  readonly livenessProbe?: ContainerProbe
  readonly startupProbe?: ContainerProbe
}

export interface ContainerResources {
  readonly requests?: Texts
  readonly limits?: Texts
}

/** A ConfigMap or a Secret of the namespace. */
export interface NamedReference {
  readonly name?: string
  readonly optional?: boolean
}

export interface KeyReference extends NamedReference {
  readonly key: string
}

export interface ContainerProbe {
  readonly exec?: { readonly command?: readonly string[] }
  readonly httpGet?: object
  readonly tcpSocket?: { readonly port: number | string }
  readonly initialDelaySeconds?: number
  readonly periodSeconds?: number
  readonly failureThreshold?: number
}

/** A ConfigMap or a Secret as a volume, or as a part of one. */
export interface MountedReference extends NamedReference {
  readonly secretName?: string
  readonly items?: readonly { readonly key: string }[]
}

export interface PodVolume {
  readonly name: string
  readonly persistentVolumeClaim?: { readonly claimName: string }
  readonly ephemeral?: object
  readonly configMap?: MountedReference
  readonly secret?: MountedReference
  readonly projected?: {
    readonly sources?: readonly {
      readonly configMap?: MountedReference
      readonly secret?: MountedReference
    }[]
  }
}
