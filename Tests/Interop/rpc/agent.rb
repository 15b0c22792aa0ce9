# Makes calls with gRPC for Ruby for rpc_agents.py, which says what its lines mean.
require 'base64'
require 'grpc'
require 'assay/v1/service_services_pb'
require 'grpc/health/v1/health_services_pb'

$stdout.sync = true
channel = ARGV[0]
verifier = Assay::V1::Verifier::Stub.new(channel, :this_channel_is_insecure)
signer = Assay::V1::Signer::Stub.new(channel, :this_channel_is_insecure)
health = Grpc::Health::V1::Health::Stub.new(channel, :this_channel_is_insecure)
CALLS = {
  'Verify' => [verifier, :verify, Assay::V1::VerifyRequest],
  'Resolve' => [verifier, :resolve, Assay::V1::ResolveRequest],
  'Fetch' => [verifier, :fetch, Assay::V1::FetchRequest],
  'Info' => [verifier, :info, Assay::V1::InfoRequest],
  'SignPromotionalOffer' =>
    [signer, :sign_promotional_offer, Assay::V1::SignPromotionalOfferRequest],
  'Check' => [health, :check, Grpc::Health::V1::HealthCheckRequest]
}.freeze

def encoded(bytes)
  bytes.nil? || bytes.empty? ? '-' : Base64.strict_encode64(bytes)
end

while (line = $stdin.gets)
  action, method, number, path, key = line.split
  number = number.to_i
  bytes = File.binread(path)
  if action == 'stream'
    requests = (1..number).lazy.map do |id|
      request = Assay::V1::VerifyStreamRequest.decode(bytes)
      request.id = id
      request
    end
    answers = valid = 0
    ids = {}
    verifier.verify_stream(requests.each).each do |found|
      answers += 1
      ids[found.id] = true
      valid += 1 if found.verification.verdict == :VERDICT_VALID
    end
    puts "#{answers} #{valid} #{ids.size}"
    next
  end
  if action == 'watch'
    begin
      health.watch(Grpc::Health::V1::HealthCheckRequest.decode(bytes)).each do |found|
        puts "status #{Grpc::Health::V1::HealthCheckResponse::ServingStatus.resolve(found.status)}"
      end
      puts '0 - - -'
    rescue GRPC::BadStatus => e
      puts "#{e.code} #{encoded(e.details)} - -"
    end
    next
  end
  stub, name, type = CALLS[method]
  options = { metadata: key ? { 'authorization' => "Bearer #{key}" } : {} }
  options[:deadline] = Time.now + number / 1000.0 if action == 'call' && number.positive?
  begin
    request = type.decode(bytes)
    if action == 'cancel'
      operation = stub.send(name, request, return_op: true, **options)
      Thread.new do
        sleep number / 1000.0
        operation.cancel
      end
      found = operation.execute
    else
      found = stub.send(name, request, **options)
    end
    puts "0 - #{encoded(found.class.encode(found))} -"
  rescue GRPC::BadStatus => e
    details = e.metadata['grpc-status-details-bin']
    puts "#{e.code} #{encoded(e.details)} - #{encoded(details)}"
  end
end
