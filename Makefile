# Each target installs the system packages that it needs when they are missing; see scripts/require.

.PHONY: demo demo-workflow test test-simulation test-servers check fuzz
.PHONY: soak soak-simulation soak-orders soak-chaos mutations bench docs release clean
.PHONY: check-library check-packages check-format check-samples check-links check-language check-time-limits
.PHONY: check-macros check-compose check-build check-features check-docs check-core check-traits check-threads
.PHONY: check-commits check-mutations check-api check-consumers check-server check-examples check-benchmarks

# On a terminal, SwiftPM shows its progress on one line; elsewhere it prints a line for each file.
QUIET = $$([ -t 2 ] || echo --quiet)

# Further flags of `swift build`, such as '-Xswiftc -warnings-as-errors', which `.ci/run` sets.
BUILD_FLAGS ?=

# Three services share one config. Without redis-server the demo runs on the fake, so a failed installation does not
# matter.
demo:
	@scripts/require hiredis openssl
	@[ -n "$$REDIS_URL" ] || scripts/require redis-server || echo "Going on without a server."
	@echo "Building, which takes some minutes the first time …"
	@swift build $(QUIET) $(BUILD_FLAGS) --product config-demo
	@"$$(swift build --show-bin-path)/config-demo"

# Tests that keep all processors busy for long. They run separately, so that they do not make other tests time out.
BUSY_TESTS = '^(SharedStateRedisTests\.SimulationTests|IntegrationTests\.ChaosTests)'

# Tests that only compute. On two processors, two of them leave no thread for tests that wait for a condition.
PURE_TESTS = '^(DocumentTests\.|SharedStateRedisTests\.(HostileAnswersTests|HealingTests|LinkFleet))'

# How many tests run at once: enough for some to wait while others run. A thousand on two processors only wait for each
# other.
TEST_ENVIRONMENT = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8

# Every wait of a test has a deadline, and every suite has a time limit. Should a run hang nevertheless, it is ended
# after this time, which is many times what it normally takes. Building is not counted.
TEST_MINUTES = 30
RUN_TESTS = scripts/run-tests $(TEST_MINUTES)

# The tests start servers of their own.
test:
	@scripts/require hiredis openssl openssl-tool redis-server
	swift build --build-tests $(BUILD_FLAGS)
	$(TEST_ENVIRONMENT) $(RUN_TESTS) swift test --skip-build --skip $(BUSY_TESTS) --skip $(PURE_TESTS)
	$(TEST_ENVIRONMENT) $(RUN_TESTS) swift test --skip-build --filter $(PURE_TESTS)
	$(TEST_ENVIRONMENT) $(RUN_TESTS) swift test --skip-build --filter $(BUSY_TESTS)

# The simulation of 'make test', for ten times as many schedules, and with larger small worlds. It is optimised, and so
# ten times faster.
test-simulation:
	@scripts/require hiredis openssl
	$(RUN_SOAK) --schedules 20000
	$(RUN_SOAK) --more-orders

# The tests that depend on the server, with other servers than the system's. Not a part of 'make test', because they
# are downloaded.
test-servers:
	@scripts/require hiredis openssl openssl-tool redis-server pip
	swift build --build-tests $(BUILD_FLAGS)
	$(TEST_ENVIRONMENT) scripts/test-servers $(SERVERS)

# A payment service is killed between charging an order and saving the result.
demo-workflow:
	@scripts/require hiredis openssl redis-server
	swift run $(EXAMPLES_FLAGS) order-workflow

# Checks beyond the tests: formatting, documentation, no warnings, no data races.
check: check-library check-packages check-threads

check-library: check-format check-commits check-samples check-links check-language check-time-limits check-mutations \
	check-macros check-compose check-build check-features check-docs check-api

# Packages that depend on this one, and this one built in other ways.
check-packages: check-traits check-consumers check-core check-examples check-benchmarks

# Looks for inputs that break the parsers of documents, messages, replies and URLs, for FUZZ_SECONDS in total.
fuzz:
	@scripts/require hiredis
	scripts/fuzz $(FUZZ)

# Lets the optimised simulation access the state machines. Package.swift reads the variable.
RUN_SOAK = BUILD_SOAK=1 swift run -c release -Xswiftc -enable-testing --scratch-path .build-soak soak

# Long runs of checks that take only seconds in the tests.
soak: soak-orders soak-simulation soak-chaos

# Millions of random schedules. `make soak-simulation SOAK='--seed 17'` repeats one and prints its events.
soak-simulation:
	@scripts/require hiredis openssl
	$(RUN_SOAK) $(SOAK)

# Every order of events in small worlds that take minutes.
soak-orders:
	@scripts/require hiredis openssl
	$(RUN_SOAK) --orders

# Services in several processes, with a server that is killed, emptied, paused and cut off.
soak-chaos:
	@scripts/require hiredis openssl openssl-tool redis-server
	swift build --build-tests
	seconds=$${CHAOS_SECONDS:-600} && CHAOS_SECONDS=$$seconds \
		scripts/run-tests $$((seconds / 15 + $(TEST_MINUTES))) \
		swift test --skip-build --filter '^IntegrationTests\.ChaosTests'

# Breaks a copy of the code on purpose, and checks that the simulation and the tests find each bug.
mutations:
	@scripts/require hiredis openssl
	scripts/check-mutations

bench:
	@scripts/require hiredis openssl openssl-tool redis-server
	cd Benchmarks && swift run -c release bench --report

docs:
	@scripts/require hiredis openssl
	swift build
	scripts/build-docs "$$(swift build --show-bin-path)" .build/docs

# Checks everything and sets a tag: make release VERSION=0.1.0
release:
	@scripts/release "$(VERSION)"

clean:
	rm -rf .build .build-* Benchmarks/.build Examples/.build Examples/flags-service/.build Fuzz/.build

SWIFT_FILES = $(wildcard Package.swift Sources Tests Snippets scripts Benchmarks/Package.swift \
	Benchmarks/Sources/bench Examples/Package.swift Examples/Bot Examples/LineServer Examples/OrderWorkflow \
	$(addprefix Examples/flags-service/,Package.swift Sources Tests) Fuzz/Package.swift Fuzz/Sources/fuzz)

check-format:
	swift format lint --strict --parallel --recursive $(SWIFT_FILES)

check-commits:
	scripts/check-commits

check-samples:
	scripts/check-samples

check-links:
	scripts/check-links

check-language:
	scripts/check-language

check-time-limits:
	scripts/check-time-limits

# Each mutation still fits the code. `make mutations` runs them, which takes an hour or two.
check-mutations:
	scripts/check-mutations --fit

# Checks that the macros parse thousands of declarations, in all available sources, as SwiftSyntax does.
check-macros:
	scripts/check-macros

check-compose:
	@scripts/require compose
	scripts/check-compose

# The checks below share one build with the thread sanitizer. Package.swift reads the variable.
CHECK_ENVIRONMENT = THREAD_SANITIZER=1
CHECK_FLAGS = --sanitize thread --scratch-path .build-check -Xswiftc -warnings-as-errors

check-build:
	@scripts/require hiredis openssl
	$(CHECK_ENVIRONMENT) swift build --build-tests $(CHECK_FLAGS)

# Many small shapes of features, which the compiler must compile.
check-features: check-build
	scripts/check-features "$$($(CHECK_ENVIRONMENT) swift build --show-bin-path $(CHECK_FLAGS))"

check-docs: check-build
	scripts/build-docs "$$($(CHECK_ENVIRONMENT) swift build --show-bin-path $(CHECK_FLAGS))" .build-check/docs

# No public declaration of the last release may be gone, unless api-breakages.txt lists it.
check-api:
	@scripts/require hiredis openssl
	scripts/check-api

# Uses what check-consumers has built.
check-core: check-consumers
	scripts/check-core

# Without the package trait 'TLS', nothing of OpenSSL is needed. With 'Tracing', operations have spans.
check-traits:
	@scripts/require hiredis redis-server
	scripts/check-traits

# Packages that depend on this one. One of them is built with optimisation, and with it code that no test builds. The
# tutorial would remove the checkouts of the server, which the example service uses as well, so it comes before.
check-consumers:
	@scripts/require hiredis openssl redis-server curl
	scripts/check-consumers
	scripts/check-tutorial
	scripts/check-server
	scripts/check-deployment

CONSUMERS_FLAGS = --scratch-path $(CURDIR)/.build-consumers
SERVER_FLAGS = --package-path Tests/Consumers/Server $(CONSUMERS_FLAGS)

# Not a part of 'make check': the client that its tests use, with a TLS library of its own, takes four minutes to build.
check-server:
	@scripts/require hiredis openssl redis-server curl
	swift build --build-tests $(SERVER_FLAGS)
	scripts/in-time 5 swift test --skip-build $(SERVER_FLAGS)
	scripts/check-server

# The programs in Examples, and their tests. Their manifests turn warnings into errors, so that they share the library
# with the packages of check-consumers, and the service Hummingbird with the server there. SwiftPM removes checkouts
# that a package does not use, so the one with the fewest comes last.
EXAMPLES_FLAGS = --package-path Examples $(CONSUMERS_FLAGS)
FLAGS_SERVICE_FLAGS = --package-path Examples/flags-service $(CONSUMERS_FLAGS)

check-examples:
	@scripts/require hiredis openssl redis-server
	swift build --build-tests $(FLAGS_SERVICE_FLAGS)
	$(TEST_ENVIRONMENT) scripts/run-tests 5 swift test --skip-build $(FLAGS_SERVICE_FLAGS)
	swift build --build-tests $(EXAMPLES_FLAGS)
	$(TEST_ENVIRONMENT) scripts/run-tests 5 swift test --skip-build $(EXAMPLES_FLAGS)

# The benchmarks use internals of the library, so a change of those may break them. They share the library with the
# packages above.
check-benchmarks:
	@scripts/require hiredis openssl
	swift build --package-path Benchmarks $(CONSUMERS_FLAGS)

# Tests that start their own program again and wait for its exit. Under the sanitizer, the runner waits for children in
# a way that never ends while the sanitizer or other tests have children. These tests run in the ordinary run only.
# A line that ends with `$\` goes on without a space.
EXIT_TESTS = '(NestedUseTests|DependencyTrapTests|IdentifiedArrayTrapTests|FileStorageCrashTests|$\
	EnvironmentExitTests|normalExit\(\)|lateFactory\(\)|DescriptorTests|ProcessFactsTests|CompileError|readInReducer|$\
	SnapshotFileTests/(killed|fullDisk))'

# Tests that fill a server's memory and check every value all the time. They take seconds, but minutes under the
# sanitizer, where waits time out. They run in the ordinary run only.
MEMORY_TESTS = 'EvictionTests/(pressure|comingBackTogether)'

# Tests that keep the processors busy, with slow code that must not delay anything else or with further programs. Under
# the sanitizer they take minutes.
SLOW_CODE_TESTS = '(ManySlowValuesTests|ExactlyOnceUpdatesTests/processes)'

# Tests that count commands: those of ten thousand shares, and those of services whose reads run into each other for
# several rounds. The counts are those of the ordinary run, and the tests take minutes under the sanitizer.
COUNT_TESTS = '(CommandCountTests|BreakingReadTests/trackingTable)'

# A test of two servers that exchange their roles eight times, with an acknowledged change of 25 KB in between. Under
# the sanitizer it takes minutes, and keeps the other tests from theirs.
ROLE_TESTS = ForkTests/pingPong

# Tests of single connections, which one thread uses. They make thousands of handshakes, which take minutes under the
# sanitizer.
HANDSHAKE_TESTS = TLSConnectionTests

# Tests of what a server permits, and of the groups of servers that tests start. They start dozens of servers, which
# take minutes under the sanitizer, and run no code on several threads that other tests do not run.
GROUP_TESTS = '(AccessRulesTests|ForbiddenNamesTests|PrivateGroupsTests)'

# A world runs everything on one thread. Under the sanitizer, thousands of worlds take minutes, in which no other test
# makes progress.
WORLD_TESTS = TestWorldTests

# Tests that talk to servers block threads that other tests need. So the two kinds run one after the other, and only
# half as many tests with servers at once, which takes less time. Those run with servers only, because the fake is used
# by the tests without servers.
SERVER_TESTS = '^IntegrationTests\.'
SERVER_TEST_ENVIRONMENT = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4 SHARED_STATE_TEST_BACKEND=server
THREAD_TESTS = scripts/run-tests 60 swift test $(CHECK_FLAGS) --skip-build \
	--skip $(EXIT_TESTS) --skip $(BUSY_TESTS) --skip $(PURE_TESTS) --skip $(MEMORY_TESTS) --skip $(SLOW_CODE_TESTS) \
	--skip $(WORLD_TESTS) --skip $(COUNT_TESTS) --skip $(HANDSHAKE_TESTS) --skip $(GROUP_TESTS) \
	--skip $(ROLE_TESTS)

check-threads: check-build
	@scripts/require hiredis openssl openssl-tool redis-server
	$(CHECK_ENVIRONMENT) $(TEST_ENVIRONMENT) $(THREAD_TESTS) --skip $(SERVER_TESTS)
	$(CHECK_ENVIRONMENT) $(SERVER_TEST_ENVIRONMENT) $(THREAD_TESTS) --filter $(SERVER_TESTS)
